/** An event of the stream, as JSON. */
export interface AgUiEvent {
  readonly type: string
  readonly [field: string]: unknown
}
