import type { Call, CallTree } from '../../../src/trace/calls/call-tree.ts'
import { ENTRY, edgeKey } from './graph-layout.ts'

/** Time for which a call is seen on its way, and a module after its work, in milliseconds of the screen. */
const TRAVEL_MS = 420
const GLOW_MS = 500
/** Pieces of text are seen one by one as long as they come slowly. */
const TEXT_EVERY_MS = 140
/** More at once are not told apart. */
const MAX_TRAVELS = 40

const RESPONSE = '__response__'

/** Module at a moment of a run. */
export interface NodeFlow {
  /** Calls that have begun. */
  readonly calls: number
  /** Time with at least one call at work. */
  readonly busyMs: number
  readonly isActive: boolean
  /** 1 while it works, then down to 0. */
  readonly glow: number
  readonly hasFailed: boolean
}

/** Call, result or piece of text on its way along an edge. */
export interface Travel {
  readonly id: string
  readonly edge: string
  /** From 0 at the caller to 1 at the module. */
  readonly share: number
  readonly kind: Call['kind'] | 'failed'
}

/** A run at a moment. */
export interface FlowState {
  readonly nodes: ReadonlyMap<string, NodeFlow>
  readonly travels: readonly Travel[]
  /** Names of the calls at work, by edge. */
  readonly labels: ReadonlyMap<string, string>
}

interface Step {
  /** Milliseconds after the beginning of the run. */
  readonly atMs: number
  readonly call: Call
  readonly type: 'begin' | 'end' | 'text'
}

interface Counted {
  calls: number
  busyMs: number
  active: number
  activeSinceMs: number
  endedAtMs: number
  hasFailed: boolean
}

/**
 * A run as it flows through the modules of its agent. Moments are best read in their order; to go back, it begins anew. Each
 * moment costs what has happened since the one before.
 */
export class Flow {
  readonly steps: readonly Step[]
  #next = 0
  #atMs = 0
  #nodes = new Map<string, Counted>()
  #open = new Map<string, Call[]>()

  /** @param startedAt Unix seconds @param plumbing calls that are left out; pieces of text travel to the user */
  constructor(tree: CallTree, startedAt: number, plumbing: ReadonlySet<Call>) {
    const msOf = (time: number) => Math.max(0, (time - startedAt) * 1000)
    const steps: Step[] = []
    for (const call of tree.calls) {
      // The text of an agent that another called goes to that one.
      if (call.to === RESPONSE) steps.push({ atMs: msOf(call.startedAt), call, type: 'text' })
      // A stage, which takes the answers of others, is a module as any.
      const isLeftOut = plumbing.has(call) && call.kind !== 'response'
      if (isLeftOut || call.moduleId.startsWith('__')) continue
      steps.push({ atMs: msOf(call.startedAt), call, type: 'begin' })
      if (call.endedAt !== undefined) steps.push({ atMs: msOf(call.endedAt), call, type: 'end' })
    }
    this.steps = steps.sort((one, other) => one.atMs - other.atMs)
  }

  /** Returns the time of the next step after a moment; undefined after the last. Pieces of text are no steps. */
  nextStepMs(atMs: number): number | undefined {
    return this.steps.find((step) => step.type !== 'text' && step.atMs > atMs)?.atMs
  }

  /** @param speed how many times faster than the run it is shown @param isOver nothing glows any more, nothing is on its way */
  at(atMs: number, speed: number, isOver = false): FlowState {
    if (atMs < this.#atMs) this.#reset()
    this.#atMs = atMs
    for (let step = this.steps[this.#next]; step && step.atMs <= atMs; step = this.steps[++this.#next]) this.#take(step)
    const nodes = this.#viewNodes(atMs, isOver ? 0 : speed)
    return { nodes, travels: isOver ? [] : this.#travels(atMs, speed), labels: this.#labels() }
  }

  #reset(): void {
    this.#next = 0
    this.#nodes = new Map()
    this.#open = new Map()
  }

  #take({ atMs, call, type }: Step): void {
    if (type === 'text') return
    const node = this.#nodeOf(call.to)
    const open = this.#open.get(edgeOf(call)) ?? []
    if (type === 'begin') {
      node.calls++
      if (node.active++ === 0) node.activeSinceMs = atMs
      this.#open.set(edgeOf(call), [...open, call])
      return
    }
    this.#open.set(
      edgeOf(call),
      open.filter((each) => each !== call),
    )
    node.active--
    node.endedAtMs = atMs
    if (node.active === 0) node.busyMs += atMs - node.activeSinceMs
    if (call.status === 'failed') node.hasFailed = true
  }

  #nodeOf(id: string): Counted {
    let node = this.#nodes.get(id)
    if (!node) {
      node = { calls: 0, busyMs: 0, active: 0, activeSinceMs: 0, endedAtMs: Number.NEGATIVE_INFINITY, hasFailed: false }
      this.#nodes.set(id, node)
    }
    return node
  }

  #viewNodes(nowMs: number, speed: number): Map<string, NodeFlow> {
    return new Map(
      [...this.#nodes].map(([id, { calls, busyMs, active, activeSinceMs, endedAtMs, hasFailed }]) => [
        id,
        {
          calls,
          busyMs: busyMs + (active > 0 ? nowMs - activeSinceMs : 0),
          isActive: active > 0,
          glow: active > 0 ? 1 : speed === 0 ? 0 : Math.max(0, 1 - (nowMs - endedAtMs) / (GLOW_MS * speed)),
          hasFailed,
        },
      ]),
    )
  }

  /** Those that set out within the last moments, the latest first. */
  #travels(nowMs: number, speed: number): Travel[] {
    const travels: Travel[] = []
    const lastMs = TRAVEL_MS * speed
    let textMs = Number.POSITIVE_INFINITY
    for (let index = this.#next - 1; index >= 0 && travels.length < MAX_TRAVELS; index--) {
      const { atMs, call, type } = this.steps[index] as Step
      if (nowMs - atMs > lastMs) break
      const share = ease((nowMs - atMs) / lastMs)
      if (type !== 'text') {
        const isBegin = type === 'begin'
        const kind = !isBegin && call.status === 'failed' ? 'failed' : call.kind
        travels.push({ id: type + call.id, edge: edgeOf(call), share: isBegin ? share : 1 - share, kind })
        continue
      }
      if (textMs - atMs < TEXT_EVERY_MS * speed) continue
      textMs = atMs
      travels.push({ id: call.id, edge: entryEdgeOf(call), share: 1 - share, kind: 'response' })
    }
    return travels
  }

  #labels(): Map<string, string> {
    return new Map(
      [...this.#open].flatMap(([edge, calls]) => {
        const last = calls.at(-1)
        return last ? [[edge, last.label ?? last.method] as const] : []
      }),
    )
  }
}

/** Edge that a call goes along. */
function edgeOf({ from, to }: Call): string {
  return edgeKey(from.startsWith('agent:') ? ENTRY : from, to)
}

/** Edge on which a text comes back to the user. */
function entryEdgeOf(call: Call): string {
  let root = call
  while (root.parent) root = root.parent
  return edgeOf(root)
}

function ease(share: number): number {
  return share * share * (3 - 2 * share)
}
