import { useState } from 'preact/hooks'
import { firstToAsk } from '../called-agents.ts'
import { Code } from '../components/code.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { Tabs } from '../components/tabs.tsx'
import { curlSnippet, mcpSnippet, openaiSnippet, pythonSnippet } from '../snippets/client-snippets.ts'
import type { ServerInfo } from '../types.ts'
import type { AgentSummary } from './agents-query.ts'

type Client = 'curl' | 'typescript' | 'python' | 'mcp'
const CLIENTS: Readonly<Record<Client, string>> = {
  curl: 'curl',
  typescript: 'TypeScript',
  python: 'Python',
  mcp: 'MCP client',
}
/** Languages of the snippets that are not named like their client. */
const LANGUAGES: Readonly<Partial<Record<Client, string>>> = { curl: 'bash', mcp: 'json' }

interface ClientSnippetsProps {
  readonly agents: readonly AgentSummary[]
  readonly server: ServerInfo | undefined
}

/** Ways to call an agent, to be copied. */
export function ClientSnippets({ agents, server }: ClientSnippetsProps) {
  const [client, setClient] = useState<Client>('curl')
  const [model, setModel] = useState(firstToAsk(agents)?.id ?? '')
  const text = writeSnippet(client, model, server)
  const names = agents.flatMap(({ id, entry_points }) => [id, ...entry_points.map((entry) => `${id}/${entry}`)])
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>Call an agent</h2>
        <Tabs label="Client" titles={CLIENTS} selected={client} onSelect={setClient} />
        {client !== 'mcp' && (
          <label class="field">
            <span class="hidden">Agent</span>
            <select value={model} onChange={({ currentTarget }) => setModel(currentTarget.value)}>
              {names.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
        <CopyButton text={text} label="Copy" />
      </div>
      <Code text={text} language={LANGUAGES[client] ?? client} />
    </section>
  )
}

function writeSnippet(client: Client, model: string, server: ServerInfo | undefined): string {
  const hasKey = (name: string) => server?.adapters_with_key.includes(name) ?? false
  const facts = { model, message: 'Hello', hasKey: hasKey('ChatCompatApiAdapter') }
  if (client === 'curl') return curlSnippet(facts)
  if (client === 'typescript') return openaiSnippet(facts)
  if (client === 'python') return pythonSnippet(facts)
  return mcpSnippet(server?.adapters.includes('McpApiAdapter') ?? false, hasKey('McpApiAdapter'))
}
