/**
 * The completion scripts of the shells. Each script passes the words up to the cursor to `substrat complete`,
 * which prints one candidate per line: the word, a tab, its description. Without candidates the shell completes files.
 */
export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

// bash splits a word at = and :, and replaces only the part behind the last one, or behind an open quotation mark.
const BASH = `# Add to ~/.bashrc:  eval "$(substrat autocomplete bash)"
# Sets plain to the word without its quotes, open to a quote that it does not close, and outside to what is before that quote.
_substrat_plain() {
  local raw=$1 sign
  plain='' open='' outside=''
  while [ -n "$raw" ]; do
    sign=\${raw:0:1} raw=\${raw:1}
    if [[ $sign == "$open" ]]; then open=''
    elif [[ -z $open && $sign == [\\'\\"] ]]; then open=$sign outside=$plain
    elif [[ $open != "'" && $sign == '\\' ]]; then plain+=\${raw:0:1} raw=\${raw:1}
    else plain+=$sign
    fi
  done
}
_substrat() {
  local word rest plain open outside joined before='' at=$COMP_CWORD
  local breaks=\${COMP_WORDBREAKS//[^=:]/} line=\${COMP_LINE:0:COMP_POINT}
  local -a words=()
  COMPREPLY=()
  joined=\${COMP_WORDS[COMP_CWORD]}
  while [[ $at -gt 1 && $line == *"\${COMP_WORDS[at-1]}$joined" ]]; do
    joined=\${COMP_WORDS[--at]}$joined
  done
  for word in "\${COMP_WORDS[@]:1:at-1}" "$joined"; do
    _substrat_plain "$word"
    words+=("$plain")
  done
  if [ -n "$open" ]; then before=$outside
  elif [[ -n $breaks && $joined == *[$breaks]* ]]; then before=\${joined%"\${joined##*[$breaks]}"}
  fi
  while IFS=$'\\t' read -r word rest; do
    word=\${word#"$before"}
    # printf quotes commas too.
    [[ -z $open && $word == *[!a-zA-Z0-9_./,:=@%+-]* ]] && word=$(printf '%q' "$word")
    [ -n "$word" ] && COMPREPLY+=("$word")
  done < <(substrat complete -- "\${words[@]}" 2>/dev/null)
}
complete -o default -F _substrat substrat
`

const ZSH = `#compdef substrat
# Add to ~/.zshrc, after compinit:  eval "$(substrat autocomplete zsh)"
_substrat() {
  local line
  local -a found
  for line in "\${(@f)$(substrat complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( $#found )); then _describe substrat found; else _files; fi
}
compdef _substrat substrat
`

const FISH = `# Add to ~/.config/fish/config.fish:  substrat autocomplete fish | source
function __substrat_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found (substrat complete -- $words[2..] 2>/dev/null)
  if count $found >/dev/null
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c substrat -f -a '(__substrat_complete)'
`

export const SCRIPTS: Record<Shell, string> = { bash: BASH, zsh: ZSH, fish: FISH }
