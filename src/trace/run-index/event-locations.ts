/** Location of one line: a file of the index, and the bytes of the line in it. */
export interface ByteRange {
  readonly file: number
  readonly offset: number
  readonly length: number
}

/**
 * The places of a run's events, in their order. As text: for each file in turn `<file>:<gap>,<length>,<gap>,<length>…`,
 * where a gap is the distance from the end of the event before; files are parted by `;`.
 */
export class EventLocations {
  #text: string
  #file: number | undefined
  #end = 0

  constructor(text: string) {
    this.#text = text
    const last = readLocations(text).at(-1)
    if (!last) return
    this.#file = last.file
    this.#end = last.offset + last.length
  }

  add({ file, offset, length }: ByteRange): void {
    if (file !== this.#file) {
      this.#text += `${this.#text === '' ? '' : ';'}${file}:${offset},${length}`
      this.#file = file
    } else this.#text += `,${offset - this.#end},${length}`
    this.#end = offset + length
  }

  toString(): string {
    return this.#text
  }
}

export function readLocations(text: string): ByteRange[] {
  const places: ByteRange[] = []
  for (const part of text === '' ? [] : text.split(';')) {
    const [file = '', numbers = ''] = part.split(':')
    const steps = numbers.split(',')
    let end = 0
    for (let index = 0; index < steps.length; index += 2) {
      const offset = end + Number(steps[index])
      const length = Number(steps[index + 1])
      places.push({ file: Number(file), offset, length })
      end = offset + length
    }
  }
  return places
}
