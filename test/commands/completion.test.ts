import { execFileSync } from 'node:child_process'
import { expect } from 'chai'
import { callCli } from '../support/call-cli.ts'
import { runCli } from '../support/run-cli.ts'

/** What bash offers after these words. */
async function offered(...words: string[]): Promise<string[]> {
  const { stdout } = await callCli(['completion', 'bash'])
  const quoted = ['agent-host', ...words].map((word) => `"${word}"`).join(' ')
  const script = `${stdout}\nCOMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _agent_host; printf '%s\\n' "\${COMPREPLY[@]}"`
  return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trim().split('\n')
}

describe('completion', () => {
  it('bash completes commands, subcommands and flags', async () => {
    expect(await offered('ch')).deep.equal(['chat', 'check'])
    expect(await offered('runs', 's')).deep.equal(['save', 'show'])
    expect(await offered('init', '--pa')).deep.equal(['--package-manager'])
    expect(await offered('runs', 'show', '--m')).deep.equal(['--mermaid'])
  })

  it('zsh and fish have scripts, too; another shell is an error', async () => {
    expect((await callCli(['completion', 'zsh'])).stdout).match(/^autoload -U \+X bashcompinit && bashcompinit\n/)
    expect((await runCli(['completion', 'fish'])).stdout).contain(
      "complete -c agent-host -f -n '__fish_use_subcommand' -a chat -d ",
    )
    const { exitCode, stderr } = await callCli(['completion', 'tcsh'])
    expect(exitCode).equal(2)
    expect(stderr).contain('bash, zsh, fish')
  })
})
