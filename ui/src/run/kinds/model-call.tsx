import { useState } from 'preact/hooks'
import type { Call } from '../../../../src/trace/call-tree.ts'
import { Bubble, FoldedBubble } from '../../components/bubble.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { JsonTree } from '../../components/json-tree.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { formatCost, formatCount } from '../../format.ts'
import { href } from '../../router.ts'
import type { ModelUsage, RunSummary } from '../../types.ts'
import type { CallPayload } from '../call-payload.ts'
import { AnyCall } from './any-call.tsx'
import { type ModelExchange, readExchange } from './model-exchange.ts'
import { vendorCurl } from './vendor-curl.ts'

type View = 'exchange' | 'tools' | 'parameters' | 'raw'

interface ModelCallProps {
  readonly run: RunSummary
  readonly call: Pick<Call, 'status' | 'usage'>
  readonly payload: CallPayload
}

/** A model call: its conversation, tools, parameters and tokens. */
export function ModelCall({ run, call, payload }: ModelCallProps) {
  const [view, setView] = useState<View>('exchange')
  const exchange = readExchange(payload.args[0], payload.result)
  if (!exchange) return <AnyCall payload={payload} />
  const usage = call.usage as ModelUsage | undefined
  const tabs = [
    { name: 'exchange', title: 'Prompt and answer' },
    { name: 'tools', title: `Tools (${exchange.tools.length})` },
    { name: 'parameters', title: 'Parameters' },
    { name: 'raw', title: 'Raw' },
  ] as const
  return (
    <>
      {call.status === 'done' && <UsageLine usage={usage} finish={exchange.finish} />}
      <p class="actions">
        <CopyButton text={() => vendorCurl(exchange, payload.reference, usage?.model ?? null)} label="Copy as curl" />
        <a class="button" href={playgroundLink(run, exchange)}>
          Open in playground
        </a>
      </p>
      <Tabs label="Views of the model call" tabs={tabs} selected={view} onSelect={setView} />
      {view === 'exchange' && <Exchange exchange={exchange} />}
      {view === 'tools' && <ToolSchemas tools={exchange.tools} />}
      {view === 'parameters' && <JsonTree value={exchange.parameters} label="parameters" />}
      {view === 'raw' && <AnyCall payload={payload} />}
    </>
  )
}

function UsageLine({ usage, finish }: { usage: ModelUsage | undefined; finish: string | undefined }) {
  return (
    <p class="facts">
      {usage ? (
        <>
          <span>
            {formatCount(usage.input_tokens)} → {formatCount(usage.output_tokens)} tokens
          </span>
          {usage.cached_input_tokens > 0 && <span>{formatCount(usage.cached_input_tokens)} cached</span>}
          {usage.reasoning_tokens > 0 && <span>{formatCount(usage.reasoning_tokens)} reasoning</span>}
          {usage.cost !== null && <span>{formatCost(usage.cost)}</span>}
        </>
      ) : (
        <span class="muted">This model counts no tokens.</span>
      )}
      {finish && <span class="muted">finish: {finish}</span>}
    </p>
  )
}

/** Messages to a model and its answer, as bubbles. */
function Exchange({ exchange: { messages, answer, reasoning } }: { exchange: ModelExchange }) {
  return (
    <div class="exchange">
      {messages.map((message, index) => (
        <Bubble key={index} message={message} />
      ))}
      {reasoning !== '' && (
        <FoldedBubble name="reasoning" text={reasoning}>
          <p class="pre">{reasoning}</p>
        </FoldedBubble>
      )}
      {(answer.content !== '' || answer.toolCalls.length > 0) && <Bubble message={answer} isAnswer />}
    </div>
  )
}

function ToolSchemas({ tools }: Pick<ModelExchange, 'tools'>) {
  if (tools.length === 0) return <p class="muted">The model was offered no tools.</p>
  return (
    <div>
      {tools.map(({ name, description, parameters }) => (
        <details class="tool" key={name}>
          <summary>
            <code>{name}</code> <span class="muted">{description.split('\n')[0]}</span>
          </summary>
          <JsonTree value={parameters} label={`parameters of ${name}`} />
        </details>
      ))}
    </div>
  )
}

/** The playground of the agent, with the last question as the draft. */
function playgroundLink({ agent_id, entry_point }: RunSummary, { messages }: ModelExchange): string {
  const draft = messages.findLast(({ role }) => role === 'user')?.content.slice(0, 2000)
  return href(['play', agent_id], { entry: entry_point === '__entry__' ? '' : entry_point, draft })
}
