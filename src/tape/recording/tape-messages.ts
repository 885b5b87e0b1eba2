/** Start data of the thread that writes tapes. */
export interface TapeThreadData {
  /** Absolute. */
  readonly dir: string
  /** Folder of the project (absolute): heads name files relative to it. */
  readonly projectDir: string
  /** Of all tapes together. */
  readonly maxBytes: number
  /** Variables by their names, in the place of whose values those names are written. */
  readonly secrets: Readonly<Record<string, string | undefined>>
}

/** Lines of one run. */
export interface LinesToWrite {
  readonly runId: string
  /** Key of the head of its tape. */
  readonly head: number
  /** Run whose tape this one goes on. */
  readonly continues: string | null
  /** Whole lines, in UTF-8. */
  readonly bytes: Uint8Array<ArrayBuffer>
  /** True for the last of them. */
  readonly isEnd: boolean
}

/** Message to the thread. */
export type TapeRequest =
  /** The head of tapes to come: its line, without the hashes of these files (absolute paths). */
  | { readonly kind: 'head'; readonly key: number; readonly line: string; readonly files: readonly string[] }
  /** No tape to come has this head. */
  | { readonly kind: 'forget'; readonly key: number }
  | { readonly kind: 'write'; readonly runs: readonly LinesToWrite[] }
  | { readonly kind: 'delete'; readonly runIds: readonly string[] }
  /** Asks for an answer once all before is done. */
  | { readonly kind: 'finish'; readonly id: number }
  | { readonly kind: 'close' }

/** Message from the thread, beside its replies. */
export type TapeNews =
  | { readonly kind: 'written'; readonly bytes: number }
  /** The tape of this run is incomplete. */
  | { readonly kind: 'failed'; readonly runId: string; readonly problem: string }
