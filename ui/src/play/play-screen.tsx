import { useEffect, useState } from 'preact/hooks'
import type { VariantChange } from '../../../src/wire/variant.ts'
import { ask } from '../api.ts'
import { firstToAsk } from '../called-agents.ts'
import { Command } from '../components/command.tsx'
import { Empty } from '../components/notice.tsx'
import { agentOf, type Column, isVaried } from '../responses/column.ts'
import { keepSetup, readSetup } from '../responses/kept-setups.ts'
import { go, href } from '../router.ts'
import type { ScreenProps } from '../screen.ts'
import type { ServerInfo } from '../types.ts'
import { ChangePanel } from './change-panel.tsx'
import { withChanges, withSeed } from './changes.ts'
import { ColumnPickers } from './column-pickers.tsx'
import { Conversation } from './conversation.tsx'
import { readStart, startAddress } from './play-address.ts'
import { type AgentChoice, type AgentName, useAgentChoice, useAgentNames } from './play-query.ts'
import { SettledColumn } from './settled-column.tsx'
import { ThreadList } from './thread-list.tsx'
import { changeColumns, useThreads } from './threads.ts'
import { compareLast } from './use-conversation.ts'

const ADAPTER = 'ResponsesCompatApiAdapter'

/** Conversations with agents. They live in the store of the responses: leaving or reloading the page stops nothing. */
export function PlayScreen({ route: { path, query }, server }: ScreenProps) {
  const agents = useAgentNames()
  if (!agents || !server) return null
  if (!server.adapters.includes(ADAPTER)) return <NoAdapter />
  const agent = path[1] ? agents.find(({ id }) => id === path[1]) : firstToAsk(agents)
  if (!agent) return <NoAgent wanted={path[1]} />
  return <Playground agents={agents} agentId={agent.id} query={query} server={server} />
}

interface PlaygroundProps {
  readonly agents: readonly AgentName[]
  readonly agentId: string
  readonly query: Readonly<Record<string, string>>
  readonly server: ServerInfo
}

function Playground({ agents, agentId, query, server }: PlaygroundProps) {
  const threads = useThreads()
  const { thread: threadId = '', draft = '' } = query
  const thread = threads.find(({ id }) => id === threadId)
  const { columns, seed } = thread ?? readStart(agentId, query)
  const agent = useAgentChoice(agentId)
  const accepted = useAccepted(columns)
  const canChange = server.takes_variants
  const [changing, setChanging] = useState<number | undefined>(
    canChange && query.setup && columns.length === 1 ? 0 : undefined,
  )
  const shown = changing === undefined ? undefined : columns[changing]
  const changed = useAgentChoice(agentOf(shown ?? { model: agentId }))
  useSeed(query.setup, agent)
  const setColumn = (index: number, column: Column) => {
    const next = columns.with(index, column)
    if (thread) changeColumns(thread.id, next)
    else {
      const id = query.setup ?? crypto.randomUUID()
      keepSetup(id, { ...readSetup(id), columns: next, ...(seed ? { seed } : {}) })
      go(href(['play', agentOf(next[0] ?? column)], { setup: id, draft }), { replace: true })
    }
  }
  const compare = async (index: number) => {
    const column = columns[index]
    if (!column) return
    if (thread) await compareLast(thread, column, index)
    else {
      const { changes: _changes, version: _version, ...original } = column
      go(`${startAddress([original, column], seed)}${draft ? `&draft=${encodeURIComponent(draft)}` : ''}`)
    }
    setChanging(undefined)
  }
  return (
    <div class="screen fill">
      {columns.map((column, index) => {
        if (!isVaried(column)) return null
        return <SettledColumn key={index} column={column} onColumn={(next) => setColumn(index, next)} />
      })}
      <div class="screen-head">
        <h1>Playground</h1>
        <ColumnPickers
          agents={agents}
          columns={columns}
          changing={changing}
          canChange={canChange}
          onColumns={(next) => {
            setChanging(undefined)
            go(startAddress(next, seed))
          }}
          onChanging={setChanging}
        />
      </div>
      <div class="play" data-changing={shown !== undefined}>
        <ThreadList threads={threads} current={threadId} columns={columns} />
        {agent && (
          <Conversation
            key={`${columns.map(({ model }) => model).join()} ${threadId || query.setup}`}
            agent={agent}
            columns={columns}
            seed={seed}
            hasKey={server.adapters_with_key.includes(ADAPTER)}
            thread={thread}
            draft={draft}
            accepted={accepted}
          />
        )}
        {changing !== undefined && shown && changed && (
          <ChangePanel
            key={`${threadId} ${changing} ${changed.id}`}
            agent={changed}
            server={server}
            column={shown}
            title={columns.length > 1 ? `Change column ${changing + 1}` : `Change ${shown.model}`}
            canCompare={columns.length === 1 || thread !== undefined}
            onColumn={(column) => setColumn(changing, column)}
            onCompare={() => void compare(changing)}
            onClose={() => setChanging(undefined)}
          />
        )}
      </div>
    </div>
  )
}

const VARIANT_QUERY = `query($id: String!) { run(run_id: $id) { events(first: 1, event_type: "call") { events { variant } } } }`

interface VariantOfRun {
  readonly run: {
    readonly events: { readonly events: readonly { readonly variant: readonly VariantChange[] | null }[] }
  } | null
}

/** Gives the agent of a model call the values that it had: those of its variant, and its system prompt. */
function useSeed(id: string | undefined, agent: AgentChoice | undefined): void {
  useEffect(() => {
    const setup = readSetup(id)
    if (id === undefined || !agent || !setup?.seed || setup.isReady) return
    const { seed, columns } = setup
    const finish = (changes: readonly VariantChange[]) => {
      const [first, ...others] = columns
      const varied = first && withSeed(withChanges(first, changes, agent.version), seed, agent)
      keepSetup(id, { ...setup, columns: varied ? [varied, ...others] : others, isReady: true })
      dispatchEvent(new HashChangeEvent('hashchange'))
    }
    ask<VariantOfRun>(VARIANT_QUERY, { id: seed.runId }).then(
      ({ run }) => finish(run?.events.events[0]?.variant ?? []),
      () => finish([]),
    )
  }, [id, agent?.id])
}

/** Media types that every column takes. */
function useAccepted(columns: readonly Column[]): readonly string[] {
  const [first = '', second = first, third = first, fourth = first] = columns.map(agentOf)
  const [one, ...others] = [
    useAgentChoice(first),
    useAgentChoice(second),
    useAgentChoice(third),
    useAgentChoice(fourth),
  ]
  const takes = (types: readonly string[], type: string) => types.includes(type) || types.includes('*/*')
  return (one?.attachments ?? []).filter((type) => others.every((other) => takes(other?.attachments ?? [], type)))
}

function NoAdapter() {
  return (
    <Empty isPage title="The playground needs the responses adapter">
      Its conversations are stored responses. Start the server with <code>agent-host dev</code> or{' '}
      <code>--adapter {ADAPTER}</code>.
    </Empty>
  )
}

function NoAgent({ wanted }: { wanted: string | undefined }) {
  if (wanted === undefined) {
    return (
      <Empty isPage title="There is no agent to talk to">
        Save a YAML file in <code>agents/</code>, or run:
        <Command text="agent-host new agent hello" />
      </Empty>
    )
  }
  return (
    <Empty isPage title={`There is no agent '${wanted}'`}>
      <a href={href(['play'])}>Choose another</a>
    </Empty>
  )
}
