import { defineCommand } from "../command.ts";

const BASH = `# bash completion for understudy. Install: understudy completion bash >> ~/.bashrc
_understudy() {
  local IFS=$'\\n'
  COMPREPLY=($(understudy --get-completions "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _understudy understudy`;

const ZSH = `#compdef understudy
# zsh completion for understudy. Install: understudy completion zsh >> ~/.zshrc
_understudy() {
  local -a found
  found=("\${(@f)$(understudy --get-completions "\${words[@]:1:$((CURRENT - 1))}" 2>/dev/null)}")
  if [[ -n "\${found[*]}" ]]; then compadd -- "\${found[@]}"; else _files; fi
}
compdef _understudy understudy`;

export const completion = defineCommand({
  positionals: {
    shell: { describe: "Shell; the one in SHELL when left out", optional: true, choices: ["bash", "zsh"] },
  },
  options: {},
  json: false,
  examples: ["understudy completion bash >> ~/.bashrc"],
  handler: async ({ shell }, { environment, print }) => {
    const zsh = shell === undefined ? (environment["SHELL"] ?? "").endsWith("zsh") : shell === "zsh";
    print.quote(zsh ? ZSH : BASH);
  },
});
