import { useState } from 'preact/hooks'
import { Icon, type IconName } from './icon.tsx'
import { useModal } from './use-modal.ts'

interface ConfirmButtonProps {
  readonly icon: IconName
  readonly label: string
  /** Consequence, as a question. */
  readonly question: string
  readonly onConfirm: () => void
}

/** Button for an irreversible action, with a confirmation. */
export function ConfirmButton({ icon, label, question, onConfirm }: ConfirmButtonProps) {
  const [isOpen, setOpen] = useState(false)
  const dialog = useModal(isOpen)
  const confirm = () => {
    dialog.current?.close()
    onConfirm()
  }
  return (
    <>
      <button type="button" class="button" onClick={() => setOpen(true)}>
        <Icon name={icon} />
        <span>{label}</span>
      </button>
      {isOpen && (
        <dialog ref={dialog} class="menu" aria-label={label} onClose={() => setOpen(false)}>
          <p>{question}</p>
          <div class="dialog-buttons">
            <button type="button" class="button" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
            <button type="button" class="button danger" onClick={confirm}>
              {label}
            </button>
          </div>
        </dialog>
      )}
    </>
  )
}
