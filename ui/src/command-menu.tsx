import { useEffect, useState } from 'preact/hooks'
import { ask } from './api.ts'
import { useModal } from './components/use-modal.ts'
import { formatAgo } from './format.ts'
import { playAddress } from './play/play-address.ts'
import { readThreads } from './play/threads.ts'
import { go, href } from './router.ts'
import { applyTheme, THEMES } from './theme.ts'

interface Command {
  readonly title: string
  readonly kind: string
  /** Address to open, or an action. */
  readonly target: string | (() => void)
}

const SCREENS: readonly Command[] = [
  { title: 'Agents', kind: 'screen', target: href(['agents']) },
  { title: 'Playground', kind: 'screen', target: href(['play']) },
  { title: 'Runs', kind: 'screen', target: href(['runs']) },
  { title: 'Failed runs', kind: 'screen', target: href(['runs'], { status: 'failed' }) },
  { title: 'Approvals', kind: 'screen', target: href(['approvals']) },
  { title: 'Metrics', kind: 'screen', target: href(['metrics']) },
  { title: 'Evals', kind: 'screen', target: href(['evals']) },
  { title: 'Webhooks', kind: 'screen', target: href(['webhooks']) },
]
const ACTIONS: readonly Command[] = THEMES.map((theme) => ({
  title: `Theme: ${theme === 'auto' ? 'system' : theme}`,
  kind: 'action',
  target: () => applyTheme(theme),
}))
const QUERY =
  'query($text: String) { list_agents { id } runs(filter: { text: $text }, first: 8) { runs { run_id agent_id input started_at } } }'
const MAX_SHOWN = 12

interface QueryData {
  readonly list_agents: readonly { readonly id: string }[]
  readonly runs: {
    readonly runs: readonly { run_id: string; agent_id: string; input: string | null; started_at: number }[]
  }
}

/** Menu of everything that has a name, and of actions: Ctrl-K opens it. */
export function CommandMenu({ onClose }: { onClose: () => void }) {
  const dialog = useModal()
  const [text, setText] = useState('')
  const [index, setIndex] = useState(0)
  const shown = useCommands(text)
  const open = (command: Command | undefined) => {
    onClose()
    if (typeof command?.target === 'function') command.target()
    else if (command) go(command.target)
  }
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (event.key === 'Enter') open(shown[index])
    if (step === 0) return
    event.preventDefault()
    setIndex((before) => Math.max(0, Math.min(shown.length - 1, before + step)))
  }
  return (
    <dialog ref={dialog} class="menu" aria-label="Go to" onClose={onClose}>
      <input
        type="search"
        aria-label="Go to an agent, a run, a thread or a screen"
        placeholder="Go to an agent, a run, a thread or a screen"
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value)
          setIndex(0)
        }}
        onKeyDown={move}
      />
      <ul>
        {shown.map((command, each) => (
          <li key={command.kind + command.title + each}>
            <button type="button" aria-current={each === index ? 'true' : undefined} onClick={() => open(command)}>
              <span class="menu-title">{command.title}</span>
              <span class="muted">{command.kind}</span>
            </button>
          </li>
        ))}
        {shown.length === 0 && <li class="muted">Nothing of that name.</li>}
      </ul>
    </dialog>
  )
}

function useCommands(text: string): Command[] {
  const [found, setFound] = useState<{ readonly text: string; readonly answer: QueryData }>()
  useEffect(() => {
    const leave = new AbortController()
    ask<QueryData>(QUERY, { text: text || null }, leave.signal).then(
      (answer) => setFound({ text, answer }),
      // The screens are there in any case.
      () => {},
    )
    return () => leave.abort()
  }, [text])
  const wanted = text.trim().toLowerCase()
  const agents = found?.answer.list_agents.flatMap(commandsOf) ?? []
  const named = [...SCREENS, ...agents, ...threadCommands(), ...ACTIONS]
  // Runs are found by the server: those of an earlier text are no answer to this one.
  const runs = found?.text === text ? found.answer.runs.runs.map(commandOfRun) : []
  return [...rank(named, wanted), ...runs].slice(0, MAX_SHOWN)
}

/** Commands whose title contains a text: those that begin with it first, and of these the shortest. */
function rank(commands: readonly Command[], wanted: string): readonly Command[] {
  if (wanted === '') return commands
  return commands
    .map((command) => ({ command, at: command.title.toLowerCase().indexOf(wanted), length: command.title.length }))
    .filter(({ at }) => at >= 0)
    .sort((one, other) => one.at - other.at || one.length - other.length)
    .map(({ command }) => command)
}

function threadCommands(): Command[] {
  return readThreads().map(({ id, columns, turns }) => ({
    title: turns[0]?.question ?? '',
    kind: 'thread',
    target: playAddress(columns, id),
  }))
}

function commandsOf({ id }: { id: string }): Command[] {
  return [
    { title: id, kind: 'agent', target: href(['agents', id]) },
    { title: `Ask ${id}`, kind: 'playground', target: href(['play', id]) },
  ]
}

function commandOfRun({ run_id, agent_id, input, started_at }: QueryData['runs']['runs'][number]): Command {
  const title = `${agent_id}: ${input || run_id}`
  return { title, kind: `run · ${formatAgo(started_at)}`, target: href(['runs', run_id]) }
}
