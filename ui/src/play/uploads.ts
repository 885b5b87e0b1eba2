/** File that goes with a question. */
export interface Upload {
  readonly name: string
  readonly mediaType: string
  /** Bytes in base64, as a data URL (RFC 2397). */
  readonly url: string
}

/** Content parts of a message, as the responses API has them. */
export type ContentPart =
  | { readonly type: 'input_text'; readonly text: string }
  | { readonly type: 'input_image'; readonly image_url: string }
  | { readonly type: 'input_file'; readonly filename: string; readonly file_data: string }

export async function readUpload(file: File): Promise<Upload> {
  return { name: file.name, mediaType: file.type || 'application/octet-stream', url: await readUrl(file) }
}

export function isPicture({ mediaType }: Upload): boolean {
  return mediaType.startsWith('image/')
}

/** Tells whether an agent that takes these media types takes a file. */
export function takes(accepted: readonly string[], { type }: File): boolean {
  const wildcard = `${type.split('/')[0]}/*`
  return accepted.some((each) => each === '*/*' || each === wildcard || each === type)
}

/** Writes a question with its files as the input of a response: a plain text where it has none. */
export function toInput(question: string, uploads: readonly Upload[]): string | object[] {
  if (uploads.length === 0) return question
  const content: ContentPart[] = uploads.map((upload) =>
    isPicture(upload)
      ? { type: 'input_image', image_url: upload.url }
      : { type: 'input_file', filename: upload.name, file_data: upload.url },
  )
  return [{ type: 'message', role: 'user', content: [...content, { type: 'input_text', text: question }] }]
}

function readUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(new Error(`${file.name} could not be read.`))
    reader.readAsDataURL(file)
  })
}
