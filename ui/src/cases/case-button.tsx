import { useState } from 'preact/hooks'
import { IconButton } from '../components/icon-button.tsx'
import { useModal } from '../components/use-modal.ts'
import { SaveCase } from './save-case.tsx'

/** Thumb down for an answer: its run becomes a case, which says what was expected. */
export function CaseButton({ runId }: { runId: string }) {
  const [isOpen, setOpen] = useState(false)
  const dialog = useModal(isOpen)
  return (
    <>
      <IconButton icon="thumb-down" label="Bad answer: save as a case" onClick={() => setOpen(true)} />
      {isOpen && (
        <dialog ref={dialog} class="menu save-test" aria-labelledby="save-case-title" onClose={() => setOpen(false)}>
          <div class="panel-head">
            <h2 id="save-case-title">Save as a case</h2>
            <IconButton icon="close" label="Close" shortcut="Esc" onClick={() => dialog.current?.close()} />
          </div>
          <p>A case asks this question again in each eval. Run this in the project:</p>
          <SaveCase runId={runId} />
        </dialog>
      )}
    </>
  )
}
