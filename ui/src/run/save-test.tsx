import { useEffect, useState } from 'preact/hooks'
import { ask } from '../api.ts'
import { SaveCase } from '../cases/save-case.tsx'
import { Command } from '../components/command.tsx'
import { Icon } from '../components/icon.tsx'
import { IconButton } from '../components/icon-button.tsx'
import { Notice } from '../components/notice.tsx'
import { useModal } from '../components/use-modal.ts'
import { AskButton } from '../questions/ask-button.tsx'
import { saveFile } from '../save-file.ts'
import { saveTape } from '../save-tape.ts'
import type { RunSummary } from '../types.ts'

const QUERY = `query($id: String!, $name: String) { run(run_id: $id) {
  saved_test(name: $name) { name test_file tape_file test advice }
} }`

interface SavedTest {
  readonly name: string
  readonly test_file: string
  readonly tape_file: string
  readonly test: string
  readonly advice: string | null
}

/** Button that offers a run as a test of the project: the command that writes it, and its files. */
export function SaveTest({ run }: { run: RunSummary }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" class="button" onClick={() => setOpen(true)}>
        <Icon name="check" />
        <span>Save as test</span>
      </button>
      {isOpen && <SaveDialog runId={run.run_id} onClose={() => setOpen(false)} />}
    </>
  )
}

function SaveDialog({ runId, onClose }: { runId: string; onClose: () => void }) {
  const dialog = useModal()
  const [name, setName] = useState('')
  const { saved, error } = useSavedTest(runId, name)
  const [failure, setFailure] = useState('')
  const download = async (files: 'both' | 'test' | 'tape') => {
    if (!saved) return
    setFailure('')
    if (files !== 'tape') saveFile(fileOf(saved.test_file), saved.test, 'text/typescript')
    if (files !== 'test')
      await saveTape(runId, fileOf(saved.tape_file)).catch((reason: Error) => setFailure(reason.message))
  }
  return (
    <dialog ref={dialog} class="menu save-test" aria-labelledby="save-test-title" onClose={onClose}>
      <div class="panel-head">
        <h2 id="save-test-title">Save as test</h2>
        <IconButton icon="close" label="Close" shortcut="Esc" onClick={() => dialog.current?.close()} />
      </div>
      <label class="save-name">
        <span>Name</span>
        <input
          value={name}
          placeholder={saved?.name}
          pattern="[A-Za-z0-9][A-Za-z0-9_\-]*"
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
      </label>
      {[error, failure].filter(Boolean).map((text) => (
        <Notice key={text} kind="bad" title={text} />
      ))}
      {saved && (
        <>
          <p>Run this in the project:</p>
          <Command text={commandOf(runId, name)} />
          <AskButton label="Save test" request={{ action: 'save_test', run_id: runId, name: saved.name }} />
          <p>Or put both files there yourself:</p>
          <p class="save-files">
            <button type="button" class="link" onClick={() => void download('test')}>
              {saved.test_file}
            </button>
            <button type="button" class="link" onClick={() => void download('tape')}>
              {saved.tape_file}
            </button>
          </p>
          <p class="dialog-buttons">
            <button type="button" class="button primary" onClick={() => void download('both')}>
              <Icon name="download" />
              <span>Download both files</span>
            </button>
          </p>
          {saved.advice !== null && <p>{saved.advice}</p>}
          <h3>Or as a case of an eval</h3>
          <SaveCase runId={runId} />
          <p class="muted">
            The tape holds the whole run: questions, answers, arguments, results and attachments, uncut. Secrets are
            written as <code>{'${NAME}'}</code>. Look at it before you share it.
          </p>
        </>
      )}
    </dialog>
  )
}

function commandOf(runId: string, name: string): string {
  return `agent-host runs save ${runId}${name === '' ? '' : ` --name ${name}`}`
}

function fileOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function useSavedTest(runId: string, name: string) {
  const [saved, setSaved] = useState<SavedTest>()
  const [error, setError] = useState('')
  useEffect(() => {
    const leave = new AbortController()
    const variables = { id: runId, name: name === '' ? null : name }
    ask<{ run: { saved_test: SavedTest | null } | null }>(QUERY, variables, leave.signal).then(
      ({ run }) => {
        setSaved(run?.saved_test ?? undefined)
        setError(run?.saved_test ? '' : 'The tape of this run is gone: the oldest are deleted.')
      },
      (failure: Error) => {
        if (leave.signal.aborted) return
        setSaved(undefined)
        setError(failure.message)
      },
    )
    return () => leave.abort()
  }, [runId, name])
  return { saved, error }
}
