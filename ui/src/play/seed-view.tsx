import { plural } from '../format.ts'
import type { Seed } from '../responses/setup.ts'
import { href } from '../router.ts'

/** Conversation of a model call, which stands before the first question. */
export function SeedView({ seed: { runId, items, tools } }: { seed: Seed }) {
  return (
    <details class="seed">
      <summary>
        From <a href={href(['runs', runId])}>run {runId.slice(0, 8)}</a>
        {items.length > 0 && `: ${plural(items.length, 'message')} before the question`}
        {tools.length > 0 && <span class="muted"> · tools: {tools.join(', ')}</span>}
      </summary>
      <ol>
        {items.map((item, index) => {
          const { type, role, name, content, output, arguments: args } = item as Readonly<Record<string, unknown>>
          return (
            <li key={index}>
              <span class="muted">{String(role ?? name ?? type)}</span>
              <p class="pre">{String(content ?? output ?? args ?? '')}</p>
            </li>
          )
        })}
      </ol>
    </details>
  )
}
