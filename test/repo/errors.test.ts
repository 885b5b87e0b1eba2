import { readFileSync } from 'node:fs'
import { AgentError, ERROR_CODES, HostError } from 'agent-host'
import { expect } from 'chai'

describe('docs/errors.md', () => {
  it('lists every code with its status', () => {
    const text = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')
    const rows = [...text.matchAll(/^\| `(\w+)`\s*\| (\d+)\s*\|/gm)].map(([, code, status]) => [code, Number(status)])
    expect(Object.fromEntries(rows)).to.deep.equal(ERROR_CODES)
  })

  it('names the classes that stacks in the log and in traces begin with', () => {
    const error = new HostError('OVERLOADED', 'Too much.')
    expect([error.name, error.stack?.split('\n')[0]]).to.deep.equal(['HostError', 'HostError: Too much.'])
    const invalid = new AgentError('AGENT_INVALID', [{ message: 'No id.', suggestions: [] }])
    expect([invalid.name, invalid.stack?.split('\n')[0]]).to.deep.equal(['AgentError', 'AgentError: No id.'])
  })
})
