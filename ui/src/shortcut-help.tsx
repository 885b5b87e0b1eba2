import { useState } from 'preact/hooks'
import { useModal } from './components/use-modal.ts'
import { useShortcuts } from './keyboard.ts'
import { go, href } from './router.ts'

const KEYS: readonly (readonly [keys: readonly string[], what: string])[] = [
  [['Ctrl K'], 'Go to an agent, a run, a thread or a screen'],
  [['g a', 'g r', 'g p', 'g m', 'g e'], 'Agents, runs, playground, metrics, evals'],
  [['/'], 'Search or filter'],
  [['↑', '↓', 'j', 'k'], 'Move in a list, a tree or a diagram'],
  [['←', '→'], 'Close and open a row of the tree'],
  [['Enter'], 'Open; send a message'],
  [['Esc'], 'Close the panel'],
  [['[', ']'], 'Previous and next run'],
  [['a', 'e', 'r'], 'Approve, edit or reject what waits'],
  [['x'], 'Choose runs to compare, or what waits, to decide several at once'],
  [['n', 'p'], 'Next and previous difference of two runs'],
  [['?'], 'These keys'],
]

/** The keys of the page: `?` shows them. */
export function ShortcutHelp() {
  const [isOpen, setOpen] = useState(false)
  const dialog = useModal(isOpen)
  useShortcuts({
    '?': () => setOpen(true),
    'g a': () => go(href(['agents'])),
    'g r': () => go(href(['runs'])),
    'g p': () => go(href(['play'])),
    'g m': () => go(href(['metrics'])),
    'g e': () => go(href(['evals'])),
  })
  if (!isOpen) return null
  return (
    <dialog ref={dialog} class="menu" aria-label="Keys" onClose={() => setOpen(false)}>
      <h2>Keys</h2>
      <dl class="keys">
        {KEYS.map(([keys, what]) => (
          <div key={what}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button type="button" class="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  )
}
