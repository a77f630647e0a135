/**
 * The completion scripts of the shells. Each script passes the words up to the cursor to `substrat complete`,
 * which prints one candidate per line: the word, a tab, its description. Without candidates the shell completes files.
 */
export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

// bash splits a word at = and :, and replaces only the part behind the last one.
const BASH = `# Add to ~/.bashrc:  eval "$(substrat autocomplete bash)"
_substrat() {
  local word rest whole joined before='' at=$COMP_CWORD
  local breaks=\${COMP_WORDBREAKS//[^=:]/}
  COMPREPLY=()
  whole=\${COMP_LINE:0:COMP_POINT}
  whole=\${whole##*[[:space:]]}
  joined=\${COMP_WORDS[COMP_CWORD]}
  while [[ $joined != "$whole" && $whole == *"$joined" && $at -gt 1 ]]; do
    joined=\${COMP_WORDS[--at]}$joined
  done
  if [[ $joined != "$whole" ]]; then at=$COMP_CWORD joined=\${COMP_WORDS[COMP_CWORD]}; fi
  [[ -n $breaks && $joined == *[$breaks]* ]] && before=\${joined%"\${joined##*[$breaks]}"}
  while IFS=$'\\t' read -r word rest; do
    word=\${word#"$before"}
    # printf quotes commas too.
    [[ $word == *[!a-zA-Z0-9_./,:=@%+-]* ]] && word=$(printf '%q' "$word")
    [ -n "$word" ] && COMPREPLY+=("$word")
  done < <(substrat complete -- "\${COMP_WORDS[@]:1:at-1}" "$joined" 2>/dev/null)
}
complete -o default -F _substrat substrat
`

const ZSH = `#compdef substrat
# Add to ~/.zshrc, after compinit:  eval "$(substrat autocomplete zsh)"
_substrat() {
  local line
  local -a found
  for line in "\${(@f)$(substrat complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
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
