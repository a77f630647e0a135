/**
 * The completion scripts of the shells. Each script passes the words up to the cursor to `substrat complete`,
 * which prints one candidate per line: the word, a tab, its description. Without candidates the shell completes files.
 */
export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

const BASH = `# Add to ~/.bashrc:  eval "$(substrat autocomplete bash)"
_substrat() {
  local word rest
  COMPREPLY=()
  while IFS=$'\\t' read -r word rest; do
    [ -n "$word" ] && COMPREPLY+=("$(printf '%q' "$word")")
  done < <(substrat complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
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
