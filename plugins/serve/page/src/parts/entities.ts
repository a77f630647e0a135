/**
 * The names of characters in Markdown, such as `&copy;`: those of HTML 4. It stands for the package `entities` in the bundle, whose
 * table of all 2231 names has 23 kB. A name that is not here stays as it was written. The browser's own parser would know them,
 * but the policy of the page lets no text reach it.
 */

const CHARACTERS = new Map<string, string>([
  ...named(
    160,
    'nbsp|iexcl|cent|pound|curren|yen|brvbar|sect|uml|copy|ordf|laquo|not|shy|reg|macr|deg|plusmn|sup2|sup3|acute|micro|para|middot|cedil|sup1|ordm|raquo|frac14|frac12|frac34|iquest|Agrave|Aacute|Acirc|Atilde|Auml|Aring|AElig|Ccedil|Egrave|Eacute|Ecirc|Euml|Igrave|Iacute|Icirc|Iuml|ETH|Ntilde|Ograve|Oacute|Ocirc|Otilde|Ouml|times|Oslash|Ugrave|Uacute|Ucirc|Uuml|Yacute|THORN|szlig|agrave|aacute|acirc|atilde|auml|aring|aelig|ccedil|egrave|eacute|ecirc|euml|igrave|iacute|icirc|iuml|eth|ntilde|ograve|oacute|ocirc|otilde|ouml|divide|oslash|ugrave|uacute|ucirc|uuml|yacute|thorn|yuml',
  ),
  ...named(
    913,
    'Alpha|Beta|Gamma|Delta|Epsilon|Zeta|Eta|Theta|Iota|Kappa|Lambda|Mu|Nu|Xi|Omicron|Pi|Rho|-|Sigma|Tau|Upsilon|Phi|Chi|Psi|Omega',
  ),
  ...named(
    945,
    'alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|omicron|pi|rho|sigmaf|sigma|tau|upsilon|phi|chi|psi|omega',
  ),
  ...named(8592, 'larr|uarr|rarr|darr|harr'),
  ...pairs(
    'amp|&|lt|<|gt|>|quot|"|apos|\'|OElig|Œ|oelig|œ|Scaron|Š|scaron|š|Yuml|Ÿ|fnof|ƒ|circ|ˆ|tilde|˜|ndash|–|mdash|—|lsquo|‘|rsquo|’|sbquo|‚|ldquo|“|rdquo|”|bdquo|„|dagger|†|Dagger|‡|bull|•|hellip|…|permil|‰|prime|′|Prime|″|lsaquo|‹|rsaquo|›|oline|‾|frasl|⁄|euro|€|image|ℑ|weierp|℘|real|ℜ|trade|™|alefsym|ℵ|crarr|↵|lArr|⇐|uArr|⇑|rArr|⇒|dArr|⇓|hArr|⇔|forall|∀|part|∂|exist|∃|empty|∅|nabla|∇|isin|∈|notin|∉|ni|∋|prod|∏|sum|∑|minus|−|lowast|∗|radic|√|prop|∝|infin|∞|ang|∠|and|∧|or|∨|cap|∩|cup|∪|int|∫|there4|∴|sim|∼|cong|≅|asymp|≈|ne|≠|equiv|≡|le|≤|ge|≥|sub|⊂|sup|⊃|nsub|⊄|sube|⊆|supe|⊇|oplus|⊕|otimes|⊗|perp|⊥|sdot|⋅|lceil|⌈|rceil|⌉|lfloor|⌊|rfloor|⌋|loz|◊|spades|♠|clubs|♣|hearts|♥|diams|♦|check|✓',
  ),
])

/** Names of characters that follow one another. */
function named(first: number, names: string): [string, string][] {
  return names.split('|').map((name, at) => [name, String.fromCodePoint(first + at)])
}

function pairs(text: string): [string, string][] {
  const words = text.split('|')
  return words.flatMap((word, at) => (at % 2 === 0 ? [[word, words[at + 1] ?? ''] as [string, string]] : []))
}

/** @public for the test */
export const NAMES: ReadonlySet<string> = new Set(CHARACTERS.keys())

/** The character, or the text itself if no character has this name. */
export function decodeHTMLStrict(text: string): string {
  return CHARACTERS.get(text.slice(1, -1)) ?? text
}
