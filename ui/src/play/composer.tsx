import { useState } from 'preact/hooks'
import { CopyButton } from '../components/copy-button.tsx'
import { Icon } from '../components/icon.tsx'
import { curlSnippet } from '../snippets/client-snippets.ts'
import { readKey, saveKey } from './responses.ts'

interface ComposerProps {
  readonly model: string
  readonly draft: string
  readonly hasKey: boolean
  readonly isRunning: boolean
  /** An earlier question is written anew: what followed it goes. */
  readonly isEditing: boolean
  readonly onDraft: (draft: string) => void
  readonly onSend: () => void
  readonly onStop: () => void
}

/** Text field for a message: Enter sends, Shift+Enter begins a line. */
export function Composer({ model, draft, hasKey, isRunning, isEditing, onDraft, onSend, onStop }: ComposerProps) {
  const canSend = draft.trim() !== '' && !isRunning
  const sendOnEnter = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    if (canSend) onSend()
  }
  return (
    <>
      {hasKey && <KeyField />}
      {isEditing && <p class="muted">You edit an earlier question: the thread goes on from there.</p>}
      <div class="composer">
        <textarea
          aria-label={`Message to ${model}`}
          placeholder={`Message to ${model}`}
          rows={2}
          value={draft}
          onInput={({ currentTarget }) => onDraft(currentTarget.value)}
          onKeyDown={sendOnEnter}
        />
        <div class="composer-buttons">
          <CopyButton
            isQuiet
            text={() => curlSnippet({ model, message: draft.trim() || 'Hello', hasKey })}
            label="Copy as curl"
          />
          {isRunning ? (
            <button type="button" class="button primary" onClick={onStop}>
              <Icon name="stop" />
              <span>Stop</span>
            </button>
          ) : (
            <button type="button" class="button primary" onClick={onSend} disabled={!canSend}>
              <Icon name="send" />
              <span>Send</span>
            </button>
          )}
        </div>
      </div>
    </>
  )
}

function KeyField() {
  const [key, setKey] = useState(readKey)
  const change = (value: string) => {
    saveKey(value)
    setKey(value)
  }
  return (
    <label class="field chat-key">
      <span>API key of the responses adapter</span>
      <input
        type="password"
        autocomplete="off"
        value={key}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
    </label>
  )
}
