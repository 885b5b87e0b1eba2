import type { CallUsage } from '../../../../src/trace/calls/call-tree.ts'
import { TableHead } from '../../components/table-head.tsx'
import { formatCount, formatPercent } from '../../format.ts'
import { contextShares } from './context-shares.ts'
import type { ModelExchange } from './model-exchange.ts'

interface ContextViewProps {
  readonly exchange: ModelExchange
  readonly usage: CallUsage | undefined
}

/** Fill of the model's context, by part. */
export function ContextView({ exchange, usage }: ContextViewProps) {
  const shares = contextShares(exchange, usage?.input_tokens ?? 0)
  const used = usage?.input_tokens || shares.reduce((sum, { tokens }) => sum + tokens, 0)
  const room = usage?.context_window ?? null
  return (
    <div class="context">
      <p>
        <b>{formatCount(used)}</b>{' '}
        {room === null ? 'tokens' : `of ${formatCount(room)} tokens · ${formatPercent(used / room)} full`}
      </p>
      {room !== null && <meter min={0} max={room} value={used} aria-label="How full the context was" />}
      <div class="context-bar" aria-hidden="true">
        {shares.map(({ part, tokens }) => (
          <span key={part} data-part={part} style={{ flexGrow: tokens }} />
        ))}
      </div>
      <table>
        <TableHead names={['Part', 'Tokens', 'Share']} figures={['Tokens', 'Share']} />
        <tbody>
          {shares.map(({ part, tokens }) => (
            <tr key={part}>
              <th scope="row">
                <span class="context-mark" data-part={part} aria-hidden="true" />
                {part}
              </th>
              <td class="number">{formatCount(tokens)}</td>
              <td class="number">{formatPercent(used === 0 ? 0 : tokens / used)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="muted table-note">
        {usage && usage.input_tokens > 0
          ? 'The total is the count of the vendor; the parts are estimated from their lengths.'
          : 'Estimated from the lengths of the texts: the model counts no tokens.'}{' '}
        {room === null && 'The size of the context is not known: prices.yml can name it, as context.'}
      </p>
    </div>
  )
}
