import { useRef, useState } from 'preact/hooks'
import { IconButton } from '../components/icon-button.tsx'
import { isPicture, readUpload, takes, type Upload } from './uploads.ts'

/** Takes files from a dialog, the clipboard or a drag, and says which the agent does not take. */
export function useUploads(
  uploads: readonly Upload[],
  accepted: readonly string[],
  onUploads: (uploads: readonly Upload[]) => void,
) {
  const [problem, setProblem] = useState('')
  const add = async (files: Iterable<File>) => {
    const all = [...files]
    const refused = all.find((file) => !takes(accepted, file))
    setProblem(refused ? `${refused.name} is not taken: the agent takes ${accepted.join(', ') || 'only text'}.` : '')
    try {
      const added = await Promise.all(all.filter((file) => takes(accepted, file)).map(readUpload))
      if (added.length > 0) onUploads([...uploads, ...added])
    } catch (failure) {
      setProblem((failure as Error).message)
    }
  }
  const addFrom = (event: Event, files: FileList | undefined) => {
    if (!files || files.length === 0) return
    event.preventDefault()
    void add(files)
  }
  return {
    problem,
    add: (files: Iterable<File>) => void add(files),
    onPaste: (event: ClipboardEvent) => addFrom(event, event.clipboardData?.files),
    onDrop: (event: DragEvent) => addFrom(event, event.dataTransfer?.files),
  }
}

interface AttachButtonProps {
  readonly accepted: readonly string[]
  readonly onFiles: (files: Iterable<File>) => void
}

export function AttachButton({ accepted, onFiles }: AttachButtonProps) {
  const field = useRef<HTMLInputElement>(null)
  const choose = ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
    onFiles([...(currentTarget.files ?? [])])
    currentTarget.value = ''
  }
  return (
    <>
      <input
        ref={field}
        class="hidden"
        type="file"
        multiple
        tabIndex={-1}
        aria-label="Files to attach"
        accept={accepted.join(',')}
        onChange={choose}
      />
      <IconButton icon="attach" label={`Attach ${accepted.join(', ')}`} onClick={() => field.current?.click()} />
    </>
  )
}

interface UploadListProps {
  readonly uploads: readonly Upload[]
  readonly onUploads: (uploads: readonly Upload[]) => void
}

/** Files that go with the next message. */
export function UploadList({ uploads, onUploads }: UploadListProps) {
  if (uploads.length === 0) return null
  return (
    <ul class="uploads" aria-label="Attached files">
      {uploads.map((upload) => (
        <li key={upload.url} class="chip">
          {isPicture(upload) && <img src={upload.url} alt="" />}
          <span>{upload.name}</span>
          <IconButton
            icon="close"
            label={`Remove ${upload.name}`}
            onClick={() => onUploads(uploads.filter((each) => each !== upload))}
          />
        </li>
      ))}
    </ul>
  )
}
