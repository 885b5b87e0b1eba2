import { setTimeout as wait } from 'node:timers/promises'
import type { GivenAnswer, StoredRunInfo } from 'agent-host'
import { expect } from 'chai'
import { messageOf } from '../../../src/errors.ts'
import type { RecordStore } from '../../../src/store/record-store.ts'
import { eventually } from '../eventually.ts'
import type { Ledgers } from './bank.ts'
import {
  type Command,
  ConversationModel,
  type Decision,
  EDITED,
  type ModelCall,
  SIZE,
  seen,
} from './conversation-model.ts'
import { type Answer, canName, type Door, type Ground, makeDoors, type Open } from './doors.ts'

export const OPERATIONS = [
  'rest',
  'say',
  'begin',
  'answer',
  'wrong',
  'again',
  'cancel',
  'expire',
  'hang',
  'kill',
] as const

/** One operation of a script. What a conversation, or a door, cannot do becomes the next thing that it can. */
export interface Step {
  readonly op: (typeof OPERATIONS)[number]
  /** Index of the first door that is tried. */
  readonly door: number
  readonly command: Command
  readonly decision: Decision
  /** Answers all calls that are open. */
  readonly isWhole: boolean
}

/** Server in a process of its own, which takes no jobs. */
export interface Victim {
  readonly url: string
  /** `kill -9`; returns once the process has ended. */
  kill(): Promise<unknown>
}

export interface Stage extends Ground {
  /** Starts a server for one kill. */
  readonly startVictim: () => Promise<Victim>
  readonly ledgers: Ledgers
  /** The store of the servers. */
  readonly records: RecordStore
}

/** Fact about a script that was played. */
export interface Played {
  /** Doors in the order of the operations on one conversation; a new conversation has a new list. */
  readonly doors: readonly (readonly string[])[]
}

interface GivenBefore {
  readonly runId: string
  readonly answers: readonly Answer[]
  /** Outputs of the client, and no decision of a person was kept beside them. */
  readonly isForkable: boolean
  /** No other calls of the step were open. */
  readonly isAlone: boolean
}

/** Indexes of the doors whose runs are in the process of their server, and that name them at once. */
const KILLED = [1, 3] as const
const KILL_STEP_MS = 4
/** Time in which others have found out that a server is dead. */
const RECOVERY_MS = 60_000

/** Plays a script through the doors, beside the model of the conversation. */
export class Player {
  readonly #stage: Stage
  readonly #to: string
  readonly #model: ConversationModel
  readonly #doors = makeDoors()
  readonly #used: string[][] = [[]]
  readonly #operations: string[] = []
  /** Last run of the conversation; undefined where nothing of it is stored. */
  #head: string | undefined
  #before: GivenBefore | undefined
  /** The last run waits with a decision that an earlier one was given. */
  #keeps = false

  /** @param to name of the conversation, which no other one has */
  constructor(stage: Stage, to: string) {
    this.#stage = stage
    this.#to = to
    this.#model = new ConversationModel(to)
  }

  /** @throws Error with the operations until then, for what is not as the model has it */
  async play(steps: readonly Step[]): Promise<Played> {
    try {
      for (const step of steps) {
        await this.#do(step)
        await this.#check()
      }
    } catch (error) {
      throw new Error([...this.#operations, messageOf(error)].join('\n'), { cause: error })
    }
    return { doors: this.#used }
  }

  #do(step: Step): Promise<void> {
    const open = this.#model.open
    const asked = open.filter(({ name }) => name !== 'look')
    const { op } = step
    if (op === 'rest') return Promise.resolve()
    if (op === 'answer' && open.length > 0) return this.#answer(step)
    if (op === 'wrong' && asked.some(({ name }) => name !== 'size')) return this.#answerWrong(step)
    if (op === 'expire' && asked.length > 0) return this.#expire()
    if (op === 'again' && this.#before) return this.#answerAgain(this.#before, step)
    if (op === 'cancel' && this.#head !== undefined) return this.#cancel(this.#head, step)
    if (op === 'hang') return this.#hang(step)
    if (op === 'kill') return open.length === 1 && asked.length === 1 ? this.#killDecision(step) : this.#killCall(step)
    return this.#say(step, op === 'begin')
  }

  async #say(step: Step, isNew: boolean): Promise<void> {
    const { command } = step
    const previousId = isNew ? undefined : this.#head
    const door = this.#pick(step, [previousId === undefined ? 'begin' : 'continue', command])
    this.#note(door, `say ${command}`, previousId === undefined)
    const { runId, refusal } = await door.say(this.#stage, this.#model.textOf(command), previousId)
    if (previousId !== undefined && this.#isRefusedAt(door)) {
      expect(refusal, `${door.name}: a message over calls of the client`).to.be.a('string')
      return
    }
    if (command !== 'fail') expect(refusal, `${door.name}: say ${command}`).to.equal(undefined)
    if (previousId === undefined) this.#model.begin()
    this.#model.say(command)
    this.#before = undefined
    this.#keeps = false
    if (command === 'look' && door.name.startsWith('chat')) this.#model.answer(first(this.#model.open), 'approve')
    this.#head = await this.#settle(runId)
  }

  /** Responses take no message over calls of the client that wait for their output. */
  #isRefusedAt({ name }: Door): boolean {
    return name.startsWith('responses') && this.#isAnyRefused()
  }

  async #answer(step: Step): Promise<void> {
    const runId = this.#head ?? ''
    const { open } = await this.#find(runId)
    const chosen = this.#choose(open, step)
    const door = this.#pick(step, keysOf(chosen, step.decision), runId)
    this.#note(door, `answer ${chosen.map(({ name }) => name).join(' and ')}`)
    const answers = chosen.map((call): Answer => {
      const found = findOpen(open, call)
      return { ...found, answer: toAnswer(call, found, step.decision) }
    })
    const { refusal, runId: named } = await door.answer(this.#stage, runId, answers)
    expect(refusal, `${door.name}: answer`).to.equal(undefined)
    const isForkable = answers.every(({ call }) => call.kind === 'client_tool') && !this.#keeps
    this.#before = { runId, answers, isForkable, isAlone: this.#model.calls.every(isClients) }
    for (const call of chosen) this.#model.answer(call, step.decision)
    await this.#follow(runId)
    const isDecision = chosen.some(({ name }) => name !== 'look')
    this.#keeps = this.#model.calls.length > 0 && (this.#keeps || (isDecision && this.#head !== runId))
    if (named !== undefined) expect(named, `${door.name}: run that goes on`).to.equal(this.#head)
  }

  #choose(open: readonly Open[], { isWhole, door }: Step): ModelCall[] {
    const calls = this.#model.open
    expect(open.map(({ call }) => call.arguments.n)).to.deep.equal(calls.map(({ n }) => n))
    return isWhole ? [...calls] : [calls[door % calls.length] ?? first(calls)]
  }

  /** An unknown word decides nothing. */
  async #answerWrong(step: Step): Promise<void> {
    const runId = this.#head ?? ''
    const { open } = await this.#find(runId)
    const call = first(this.#model.open.filter(({ name }) => name === 'pay' || name === 'clerk'))
    const door = this.#pick(step, ['answer pay', 'wrong'], runId)
    this.#note(door, 'answer with an unknown word')
    const answer = { kind: 'approval', decision: 'aprove' } as unknown as GivenAnswer
    const { refusal } = await door.answer(this.#stage, runId, [{ ...findOpen(open, call), answer }])
    expect(refusal, `${door.name}: an unknown word`).to.be.a('string')
  }

  /** A second answer is refused; outputs of the client make a branch of the conversation, where only it was asked. */
  async #answerAgain({ runId, answers, isForkable, isAlone }: GivenBefore, step: Step): Promise<void> {
    const names = new Set(answers.map(({ call }) => (call.kind === 'client_tool' ? 'look' : 'again')))
    const isEdit = answers.some(({ answer }) => answer.kind === 'approval' && answer.decision === 'edit')
    const keys = [...names].map((name) => `answer ${name}`)
    const isQuestion = answers.some(({ call }) => call.kind === 'question')
    const door = this.#pick(
      step,
      [
        ...keys,
        ...(isQuestion ? ['answer ask'] : []),
        ...(isEdit ? ['edit'] : []),
        ...(answers.length > 1 ? ['both'] : []),
      ],
      runId,
    )
    this.#note(door, 'answer again')
    const { refusal, runId: branch } = await door.answer(this.#stage, runId, answers)
    if (isForkable && door.name.startsWith('responses')) {
      expect(refusal, `${door.name}: outputs of the client again`).to.equal(undefined)
      await this.#settle(branch)
      // The other calls of the step wait in the branch, too.
      if (isAlone) this.#model.askAgain()
    } else if (door.name === 'mcp') {
      // It gets the outcome of the run that went on, or is asked for the others.
      expect(refusal, `${door.name}: answer again`).to.equal(undefined)
    } else expect(refusal, `${door.name}: answer again`).to.be.a('string')
  }

  async #cancel(runId: string, step: Step): Promise<void> {
    const door = this.#pick(step, ['cancel'])
    this.#note(door, 'cancel')
    const { refusal = '' } = (await door.cancel?.(this.#stage, runId)) ?? {}
    // Responses cancel those of the background alone.
    if (refusal !== '') expect(refusal, `${door.name}: cancel`).to.match(/Only background/)
    else if (this.#model.calls.length > 0) this.#model.closed ??= 'cancelled'
  }

  /** Has the time of what waits be over. */
  async #expire(): Promise<void> {
    const runId = this.#head ?? ''
    const open = (await this.#find(runId)).open.filter(({ call }) => call.kind !== 'client_tool')
    this.#operations.push('expire')
    const { records } = this.#stage
    const keys = open.map(({ id }) => `approval:${id}`)
    const texts = await records.get(keys)
    const rows = texts.map((text) => ({ ...JSON.parse(text ?? '{}'), expiresAt: 1 }))
    const changes = rows.flatMap((row): [string, string][] => [
      [`approval:${row.id}`, JSON.stringify(row)],
      [`expiring-approval:${'1'.padStart(12, '0')}:${row.id}`, 'null'],
    ])
    await records.commit(changes)
    await eventually(async () => {
      const after = await records.get(keys)
      expect(after.map((text) => JSON.parse(text ?? '{}').status)).to.deep.equal(keys.map(() => 'expired'))
    }, 15_000)
    this.#model.expire()
    await this.#follow(runId)
  }

  /** A run that is cancelled, or left, while a call is under way. */
  async #hang(step: Step): Promise<void> {
    const previousId = this.#head
    const door = this.#pick(step, [previousId === undefined ? 'begin' : 'continue', 'hang'])
    if (previousId !== undefined && this.#isRefusedAt(door)) return this.#say(step, true)
    this.#note(door, 'hang', previousId === undefined)
    if (previousId === undefined) this.#model.begin()
    const { runId, leave } = (await door.hang?.(this.#stage, this.#model.textOf('hang'), previousId)) ?? { runId: '' }
    this.#model.say('hang')
    this.#before = undefined
    this.#keeps = false
    await eventually(() => expect(this.#stage.ledgers.read(this.#to).did.at(-1)).to.equal(this.#model.did.at(-1)))
    if (leave) leave()
    else {
      const other = this.#pick(step, ['cancel'])
      const { refusal } = (await other.cancel?.(this.#stage, runId)) ?? {}
      expect(refusal, `${other.name}: cancel what hangs`).to.equal(undefined)
    }
    this.#head = await this.#settle(runId)
    expect((await this.#find(runId)).status).to.equal('cancelled')
  }

  /** A server is killed while it executes a call. */
  async #killCall(step: Step): Promise<void> {
    const previousId = this.#isAnyRefused() ? undefined : this.#head
    const door = this.#pick({ ...step, door: KILLED[step.door % KILLED.length] ?? 0 }, ['hang'])
    this.#note(door, 'kill', previousId === undefined)
    if (previousId === undefined) this.#model.begin()
    const victim = await this.#stage.startVictim()
    const ground = { ...this.#stage, url: () => victim.url }
    const { runId } = (await door.hang?.(ground, this.#model.textOf('hang'), previousId)) ?? { runId: '' }
    this.#model.say('hang')
    this.#before = undefined
    this.#keeps = false
    await eventually(() => expect(this.#stage.ledgers.read(this.#to).did.at(-1)).to.equal(this.#model.did.at(-1)))
    await victim.kill()
    this.#head = await this.#settle(runId)
    expect((await this.#find(runId)).status).to.equal('failed')
  }

  /** A server is killed at any moment of a decision: it was taken, and carried out at most once, or it can be sent again. */
  async #killDecision(step: Step): Promise<void> {
    const runId = this.#head ?? ''
    const { open } = await this.#find(runId)
    const call = first(this.#model.open)
    const door = this.#pick({ ...step, door: KILLED[step.door % KILLED.length] ?? 0 }, keysOf([call], 'approve'))
    this.#note(door, 'kill while it decides')
    const victim = await this.#stage.startVictim()
    const found = findOpen(open, call)
    const answers = [{ ...found, answer: toAnswer(call, found, 'approve') }]
    const ground = { ...this.#stage, url: () => victim.url }
    const sent = door.answer(ground, runId, answers).catch(messageOf)
    await wait(step.door * KILL_STEP_MS)
    await victim.kill()
    await sent
    this.#before = undefined
    const status = await eventually(async () => {
      const { continuedBy } = await this.#find(runId)
      if (continuedBy === null) return undefined
      const { status } = await this.#find(continuedBy)
      expect(status).to.not.equal('in_progress')
      return status
    }, RECOVERY_MS)
    if (status === undefined) return
    await this.#follow(runId)
    if (status === 'completed') return this.#model.answer(call, 'approve')
    // It may have acted: what it has done is in the ledger, and the conversation goes on elsewhere.
    this.#model.adopt(this.#stage.ledgers.read(this.#to), call)
    this.#head = undefined
  }

  /** Tells whether responses take no message now. */
  #isAnyRefused(): boolean {
    return this.#model.open.some(({ name }) => name === 'look')
  }

  /** Goes to the run that continues one, if any does. */
  async #follow(runId: string): Promise<void> {
    const { continuedBy } = await this.#find(runId)
    if (continuedBy !== null) this.#head = await this.#settle(continuedBy)
  }

  /** Waits for the end of a run. */
  async #settle(runId: string | undefined): Promise<string | undefined> {
    if (runId === undefined) return undefined
    for await (const event of this.#stage.project().runs.of('').follow(runId)) void event
    return runId
  }

  async #find(runId: string): Promise<StoredRunInfo> {
    const info = await this.#stage.project().runs.of('').find(runId)
    if (!info) throw new Error(`There is no run '${runId}'.`)
    return info
  }

  /** The ledger is as the model has it, and so is what the store says to wait. */
  async #check(): Promise<void> {
    const { asked, did } = this.#stage.ledgers.read(this.#to)
    expect(did, 'executed calls').to.deep.equal(this.#model.did)
    expect(asked.slice(-2), 'histories that the model was sent').to.deep.equal(this.#model.asked.slice(-2))
    expect(asked.length, 'number of histories').to.equal(this.#model.asked.length)
    const open = this.#head === undefined ? [] : (await this.#find(this.#head)).open
    expect(open.map(({ call }) => call.arguments.n)).to.deep.equal(this.#model.open.map(({ n }) => n))
  }

  /** First door that can do all of this. */
  #pick({ door: from }: Step, operations: readonly string[], runId?: string): Door {
    const can = (door: Door) =>
      !operations.some((operation) => operation in door.cannot) && (runId === undefined || canName(door, runId))
    const doors = this.#doors.map((_, index) => this.#doors[(from + index) % this.#doors.length])
    const found = doors.find((door) => door && can(door))
    if (!found) throw new Error(`No door can: ${operations.join(', ')}`)
    return found
  }

  #note({ name }: Door, operation: string, isNew = false): void {
    if (isNew) this.#used.push([])
    this.#used.at(-1)?.push(name)
    this.#operations.push(`${name}: ${operation}`)
  }
}

/** Tells whether a conversation came through more than one door. */
export function changesDoor({ doors }: Played): boolean {
  return doors.some((used) => used.some((door, index) => index > 0 && door !== used[index - 1]))
}

function first<T>(all: readonly T[]): T {
  const [one] = all
  if (one === undefined) throw new Error('There is none.')
  return one
}

function isClients({ name, decision }: ModelCall): boolean {
  return name === 'look' || decision === 'expire'
}

function keysOf(calls: readonly ModelCall[], decision: Decision): string[] {
  const keys = calls.map(({ name }) => (name === 'size' ? 'answer ask' : `answer ${name}`))
  const isEdited = decision === 'edit' && calls.some(({ name }) => name === 'pay' || name === 'clerk')
  return [...keys, ...(isEdited ? ['edit'] : []), ...(calls.length > 1 ? ['both'] : [])]
}

function findOpen(open: readonly Open[], { n }: ModelCall): Open {
  const found = open.find(({ call }) => call.arguments.n === n)
  if (!found) throw new Error(`The call ${n} is not open.`)
  return found
}

function toAnswer({ name, n }: ModelCall, { call }: Open, decision: Decision): GivenAnswer {
  if (name === 'look') return { kind: 'client_tool', result: { text: seen(n) } }
  if (name === 'size') return { kind: 'question', answers: [SIZE] }
  return decision === 'edit'
    ? { kind: 'approval', decision, arguments: { ...call.arguments, n: n + EDITED } }
    : { kind: 'approval', decision }
}
