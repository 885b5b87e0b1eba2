interface Attachment {
  readonly mediaType?: unknown
  readonly data?: unknown
  readonly name?: unknown
}

interface PicturesProps {
  readonly attachments: unknown
  readonly label?: string
  readonly class?: string
}

/** Pictures as pictures, other attachments by their names. */
export function Pictures({ attachments, label, class: classes = '' }: PicturesProps) {
  if (!Array.isArray(attachments) || attachments.length === 0) return null
  return (
    <ul class={`pictures ${classes}`} aria-label={label}>
      {(attachments as readonly (Attachment | null)[]).map((attachment, index) => (
        <li key={index}>
          <Picture attachment={attachment ?? {}} />
        </li>
      ))}
    </ul>
  )
}

function Picture({ attachment: { mediaType, data, name } }: { attachment: Attachment }) {
  const title = String(name ?? mediaType ?? 'attachment')
  // The page loads nothing from elsewhere: it shows only embedded images.
  if (typeof data === 'string' && /^data:image\/(png|jpeg|gif|webp);/.test(data)) return <img src={data} alt={title} />
  return <span class="badge">{title}</span>
}
