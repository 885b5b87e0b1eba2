import { Args } from '@oclif/core'
import { BaseCommand } from './base-command.ts'

const SHELLS = ['bash', 'zsh', 'fish']

interface Completed {
  /** `runs show` */
  readonly name: string
  readonly description: string
  readonly flags: readonly string[]
}

export default class Completion extends BaseCommand {
  static override description = 'Prints a script that completes commands and flags in your shell.'
  static override examples = [
    'source <(agent-host completion bash)   # in ~/.bashrc',
    'source <(agent-host completion zsh)    # in ~/.zshrc, after compinit',
    'agent-host completion fish > ~/.config/fish/completions/agent-host.fish',
  ]
  static override args = {
    shell: Args.string({ required: true, description: 'Your shell', options: SHELLS, ignoreStdin: true }),
  }

  /** The script is of no project. */
  override async init(): Promise<void> {}

  override async run(): Promise<void> {
    const { shell } = (await this.parse(Completion)).args
    const commands = this.config.commands.map(({ id, description = '', flags }): Completed => {
      const names = Object.keys(flags).map((name) => `--${name}`)
      return { name: id.replaceAll(':', ' '), description, flags: [...names, '--help'] }
    })
    this.log(shell === 'fish' ? forFish(commands) : forBash(commands, shell === 'zsh'))
  }
}

/** zsh runs functions of bash through bashcompinit. */
function forBash(commands: readonly Completed[], isZsh: boolean): string {
  const first = commands.filter(({ name }) => !name.includes(' ')).map(({ name }) => name)
  const cases = commands.map(({ name, flags }) => {
    const below = commands.flatMap((each) =>
      each.name.startsWith(`${name} `) ? [each.name.slice(name.length + 1)] : [],
    )
    return `    "${name}") words="${[...below, ...flags].join(' ')}" ;;`
  })
  return [
    ...(isZsh ? ['autoload -U +X bashcompinit && bashcompinit'] : []),
    '_agent_host() {',
    '  local current="${COMP_WORDS[COMP_CWORD]}" command="" words="" word',
    '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
    '    case "$word" in -*) ;; *) command="${command:+$command }$word" ;; esac',
    '  done',
    '  case "$command" in',
    `    "") words="${first.join(' ')} --help --version" ;;`,
    ...cases,
    `    *) words="" ;;`,
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))',
    '}',
    'complete -F _agent_host agent-host',
  ].join('\n')
}

function forFish(commands: readonly Completed[]): string {
  const quote = (text: string) => `'${text.replace(/['\\]/g, '\\$&')}'`
  return commands
    .flatMap(({ name, description, flags }) => {
      const words = name.split(' ')
      const last = words.pop() ?? ''
      const seen = (word: string) => `__fish_seen_subcommand_from ${word}`
      const condition = words.length === 0 ? '__fish_use_subcommand' : words.map(seen).join('; and ')
      return [
        `complete -c agent-host -f -n ${quote(condition)} -a ${last} -d ${quote(description)}`,
        ...flags.map(
          (flag) => `complete -c agent-host -n ${quote([...words, last].map(seen).join('; and '))} -l ${flag.slice(2)}`,
        ),
      ]
    })
    .join('\n')
}
