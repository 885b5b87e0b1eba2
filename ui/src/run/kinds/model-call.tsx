import { useState } from 'preact/hooks'
import type { Call } from '../../../../src/trace/calls/call-tree.ts'
import { pairCalls } from '../../../../src/wire/paired-calls.ts'
import { Bubble, FoldedBubble } from '../../components/bubble.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { JsonTree } from '../../components/json-tree.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { keepSetup } from '../../responses/kept-setups.ts'
import { setupOfCall } from '../../responses/setup.ts'
import { href } from '../../router.ts'
import type { RunSummary } from '../../types.ts'
import type { CallPayload } from '../call-payload.ts'
import { AnyCall } from './any-call.tsx'
import { ContextView } from './context-view.tsx'
import { useLiveText } from './live-text.ts'
import { type ModelExchange, readExchange } from './model-exchange.ts'
import { vendorCurl } from './vendor-curl.ts'

const VIEWS = { prompt: 'Prompt', answer: 'Answer', parameters: 'Parameters', context: 'Context', raw: 'Raw' } as const

interface ModelCallProps {
  readonly run: RunSummary
  readonly call: Pick<Call, 'status' | 'usage' | 'startedAt'>
  readonly payload: CallPayload
}

/** A model call: its conversation, answer, parameters, and how it fills the model's context. */
export function ModelCall({ run, call, payload }: ModelCallProps) {
  const [view, setView] = useState<keyof typeof VIEWS>('prompt')
  const live = useLiveText(run.run_id, call)
  const read = readExchange(payload.args[0], payload.result)
  if (!read) return <AnyCall payload={payload} />
  const exchange = live === undefined ? read : { ...read, answer: { ...read.answer, content: live } }
  return (
    <>
      <Tabs label="Views of the model call" titles={VIEWS} selected={view} onSelect={setView} />
      {view === 'prompt' && <Prompt exchange={exchange} />}
      {view === 'answer' && <Answer exchange={exchange} />}
      {live !== undefined && <span class="typing" role="status" aria-label="The model answers" />}
      {view === 'parameters' && <Parameters parameters={exchange.parameters} />}
      {view === 'context' && <ContextView exchange={exchange} usage={call.usage} />}
      {view === 'raw' && <AnyCall payload={payload} />}
    </>
  )
}

/** Buttons that take a model call elsewhere: a command for its vendor, and the playground. */
export function ModelCallActions({ run, call, payload }: ModelCallProps) {
  const exchange = readExchange(payload.args[0], payload.result)
  if (!exchange) return null
  return (
    <>
      <CopyButton
        text={() => vendorCurl(exchange, payload.reference, call.usage?.model ?? null)}
        label="Copy as curl"
      />
      <PlaygroundLink run={run} exchange={exchange} />
    </>
  )
}

/** Everything that the model was sent, and below it what it answered. */
function Prompt({ exchange }: { exchange: ModelExchange }) {
  const { messages, tools } = exchange
  const names = new Map(pairCalls(messages).map(({ call, answeredAt }) => [answeredAt, call.name]))
  return (
    <div class="exchange">
      {messages.map((message, index) => (
        <Bubble key={index} message={message} toolName={names.get(index)} />
      ))}
      {tools.length > 0 && <ToolSchemas tools={tools} />}
      <Said exchange={exchange} />
    </div>
  )
}

function Answer({ exchange }: { exchange: ModelExchange }) {
  return (
    <div class="exchange">
      <Said exchange={exchange} />
    </div>
  )
}

function Said({ exchange: { answer, reasoning, finish } }: { exchange: ModelExchange }) {
  const isEmpty = answer.content === '' && answer.toolCalls.length === 0
  return (
    <>
      {reasoning !== '' && (
        <FoldedBubble name="reasoning" text={reasoning}>
          <p class="pre">{reasoning}</p>
        </FoldedBubble>
      )}
      {isEmpty ? (
        <p class="muted">{finish === undefined ? 'Nothing was said so far.' : 'No answer.'}</p>
      ) : (
        <Bubble message={answer} isAnswer />
      )}
    </>
  )
}

function Parameters({ parameters }: Pick<ModelExchange, 'parameters'>) {
  if (Object.keys(parameters).length === 0) return <p class="muted">The defaults of the model.</p>
  return <JsonTree value={parameters} label="parameters" />
}

function ToolSchemas({ tools }: Pick<ModelExchange, 'tools'>) {
  return (
    <details class="bubble offered">
      <summary>
        <span>Tools offered</span> <span class="muted">{tools.map(({ name }) => name).join(', ')}</span>
      </summary>
      {tools.map(({ name, description, parameters }) => (
        <details class="tool" key={name}>
          <summary>
            <code>{name}</code> <span class="muted">{description.split('\n')[0]}</span>
          </summary>
          <JsonTree value={parameters} label={`parameters of ${name}`} />
        </details>
      ))}
    </details>
  )
}

/** The playground where this call began: with its system prompt, messages and parameters, and the last question as the draft. */
function PlaygroundLink({
  run: { run_id, agent_id, entry_point },
  exchange,
}: {
  run: RunSummary
  exchange: ModelExchange
}) {
  const id = `${run_id}-${exchange.messages.length}`
  const entry = entry_point === '__entry__' ? '' : entry_point
  const draft = exchange.messages.findLast(({ role }) => role === 'user')?.content.slice(0, 2000)
  const model = entry ? `${agent_id}/${entry}` : agent_id
  return (
    <a
      class="button"
      href={href(['play', agent_id], { entry, draft, setup: id })}
      onClick={() => keepSetup(id, setupOfCall({ ...exchange, model, runId: run_id }))}
    >
      Open in playground
    </a>
  )
}
