import { CopyButton } from '../components/copy-button.tsx'
import { Icon } from '../components/icon.tsx'
import type { Column } from '../responses/column.ts'
import { variantIdOf } from '../responses/variants-client.ts'
import { curlSnippet, openaiSnippet, pythonSnippet, type SnippetSpec } from '../snippets/client-snippets.ts'
import { AttachButton, UploadList, useUploads } from './attachments.tsx'
import { KeyField } from './key-field.tsx'
import type { Upload } from './uploads.ts'

interface ComposerProps {
  /** Names of those who answer, and the same with what differs in them. */
  readonly models: string
  readonly title: string
  /** Column that code to copy asks: the first with changed values, or else the first. */
  readonly codeColumn: Column
  readonly draft: string
  readonly uploads: readonly Upload[]
  /** Media types that the agent takes; empty for text alone. */
  readonly accepted: readonly string[]
  readonly hasKey: boolean
  readonly isRunning: boolean
  /** An earlier question is replaced: everything after it is removed. */
  readonly isEditing: boolean
  readonly onDraft: (draft: string) => void
  readonly onUploads: (uploads: readonly Upload[]) => void
  readonly onSend: () => void
  readonly onStop: () => void
}

/** Text field for a message: Enter sends, Shift+Enter starts a line; files are chosen, pasted or dropped. */
export function Composer(props: ComposerProps) {
  const { models, title, draft, uploads, accepted, hasKey, isRunning, isEditing, onDraft, onUploads, onSend } = props
  const { problem, add, onPaste, onDrop } = useUploads(uploads, accepted, onUploads)
  const canSend = (draft.trim() !== '' || uploads.length > 0) && !isRunning
  const sendOnEnter = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    if (canSend) onSend()
  }
  return (
    <>
      {hasKey && <KeyField />}
      {isEditing && <p class="muted">You edit an earlier question: the thread goes on from there.</p>}
      {problem && (
        <p class="bad-text" role="alert">
          {problem}
        </p>
      )}
      <div class="composer">
        <UploadList uploads={uploads} onUploads={onUploads} />
        <textarea
          aria-label={`Message to ${title}`}
          placeholder={`Message to ${models}`}
          rows={2}
          value={draft}
          onInput={({ currentTarget }) => onDraft(currentTarget.value)}
          onKeyDown={sendOnEnter}
          onPaste={onPaste}
          onDrop={onDrop}
          onDragOver={(event) => event.preventDefault()}
        />
        <ComposerButtons {...props} canSend={canSend} onFiles={add} />
      </div>
    </>
  )
}

const LANGUAGES = [
  { name: 'curl', write: curlSnippet },
  { name: 'TypeScript', write: openaiSnippet },
  { name: 'Python', write: pythonSnippet },
]

/** The request of a column: with its variant, which is made for it. */
async function snippetOf(column: Column, rest: Pick<SnippetSpec, 'message' | 'hasKey'>): Promise<SnippetSpec> {
  const { model, temperature } = column
  return { model, temperature, variant: await variantIdOf(column), ...rest }
}

interface ComposerButtonsProps extends ComposerProps {
  readonly canSend: boolean
  readonly onFiles: (files: Iterable<File>) => void
}

function ComposerButtons(props: ComposerButtonsProps) {
  const { codeColumn, draft, accepted, hasKey, isRunning, canSend, onFiles, onSend, onStop } = props
  return (
    <div class="composer-buttons">
      {accepted.length > 0 && <AttachButton accepted={accepted} onFiles={onFiles} />}
      <span class="copy-code">
        {LANGUAGES.map(({ name, write }) => (
          <CopyButton
            key={name}
            isQuiet
            name={name}
            text={async () => write(await snippetOf(codeColumn, { message: draft.trim() || 'Hello', hasKey }))}
            label={`Copy as ${name}`}
          />
        ))}
      </span>
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
  )
}
