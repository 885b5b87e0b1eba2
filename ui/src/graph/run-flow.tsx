import { useMemo } from 'preact/hooks'
import type { Call } from '../../../src/trace/calls/call-tree.ts'
import { go, href } from '../router.ts'
import { findPlumbing } from '../traces/plumbing.ts'
import type { LoadedRun } from '../traces/run-query.ts'
import { Flow } from './flow.ts'
import { FlowBar } from './flow-bar.tsx'
import { agentOf, CALLABLE, ENTRY, type ExchangeRow, type ModuleSummary, moduleOf, withCalled } from './graph-layout.ts'
import { GraphView } from './graph-view.tsx'
import { usePlayer } from './player.ts'

interface RunFlowProps {
  readonly loaded: LoadedRun
  readonly modules: readonly ModuleSummary[]
  readonly exchange: readonly ExchangeRow[]
  readonly selected: string
  readonly onSelect: (module: string) => void
}

/** A run as it flows through the graph of its agent: while it happens, and again afterwards. */
export function RunFlow({ loaded, modules, exchange, selected, onSelect }: RunFlowProps) {
  const { run, tree, size } = loaded
  const isRunning = run.status === 'running'
  const plumbing = useMemo(() => findPlumbing(tree), [tree, size])
  const calls = useMemo(() => tree.calls.filter((call) => !plumbing.has(call)), [plumbing])
  const flow = useMemo(() => new Flow(tree, run.started_at, plumbing), [plumbing, run.started_at])
  const latestMs = flow.steps.at(-1)?.atMs ?? 0
  const durationMs = Math.max(run.duration_ms ?? 0, latestMs, 0.01)
  const player = usePlayer({ isRunning, durationMs, latestMs, nextStepMs: (atMs) => flow.nextStepMs(atMs) })
  // As text: the wiring stays the same picture while the run goes on.
  const called = JSON.stringify({ links: linksOf(calls), kinds: kindsOf(calls) })
  const wiring = useMemo(() => {
    const { links, kinds } = JSON.parse(called) as { links: ExchangeRow[]; kinds: ReturnType<typeof kindsOf> }
    return withCalled(modules, exchange, links, kinds)
  }, [modules, exchange, called])
  const totalMs = isRunning ? Math.max(player.atMs, latestMs, 0.01) : durationMs
  const isOver = !isRunning && !player.isPlaying && player.atMs >= durationMs
  const state = flow.at(player.atMs, player.speed, isOver)
  return (
    <>
      <GraphView
        {...wiring}
        selected={selected}
        flow={player.hasMotion ? state : { ...state, travels: [] }}
        onSelect={(id) => openModule(id, onSelect)}
      />
      <FlowBar player={player} calls={calls} startedAt={run.started_at} totalMs={totalMs} isRunning={isRunning} />
    </>
  )
}

/** Opens a module: that of another agent on the page of that one. */
export function openModule(id: string, onSelect: (module: string) => void): void {
  const agent = agentOf(id)
  if (agent === undefined) onSelect(id)
  else go(href(['agents', agent], moduleOf(id) === CALLABLE ? {} : { module: moduleOf(id) }))
}

/** Kinds of the first calls, by module. */
function kindsOf(calls: readonly Call[]): Record<string, Call['kind']> {
  return Object.fromEntries([...calls].reverse().map(({ to, kind }) => [to, kind]))
}

/** Links from callers to modules, once each. */
function linksOf(calls: readonly Call[]): ExchangeRow[] {
  const links = new Map<string, ExchangeRow>()
  for (const { from, to } of calls) {
    const module = from.startsWith('agent:') ? ENTRY : from
    links.set(`${module} ${to}`, { module, protocol: '', provider: to, fieldName: null })
  }
  return [...links.values()]
}
