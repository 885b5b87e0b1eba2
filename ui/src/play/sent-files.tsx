import { useEffect, useState } from 'preact/hooks'
import { fieldsOf } from '../components/model-message.ts'
import { Pictures } from '../components/pictures.tsx'
import { readInput } from '../responses/responses-client.ts'

interface SentFilesProps {
  readonly names: readonly string[]
  /** A response to the question, whose input has the bytes. */
  readonly responseId: string | undefined
}

/** Files of a question: the server keeps the pictures, the browser the names. */
export function SentFiles({ names, responseId }: SentFilesProps) {
  const [pictures, setPictures] = useState<readonly unknown[]>([])
  useEffect(() => {
    if (responseId === undefined) return
    // Until they are there, and where they are not any more, the names stand for them.
    readInput(responseId).then(
      (items) => setPictures(filesOf(items.at(-1)).map((part) => part.image_url)),
      () => {},
    )
  }, [responseId])
  const attachments = names.map((name, index) => ({ name, data: pictures[index] }))
  return <Pictures class="sent-files" label="Files" attachments={attachments} />
}

/** Parts of a message that are files, in the order in which they were sent. */
function filesOf(message: unknown): readonly Readonly<Record<string, unknown>>[] {
  const { content } = fieldsOf(message)
  return Array.isArray(content) ? content.map(fieldsOf).filter(({ type }) => type !== 'input_text') : []
}
