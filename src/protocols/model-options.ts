/** Options of one request to a model. What is left out is the default of the module, or of the model. */
export interface ModelOptions {
  /** `auto` when left out; `{ tool }` forces the tool of that name. */
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly tool: string }
  readonly temperature?: number
  readonly topP?: number
  readonly maxOutputTokens?: number
  readonly stop?: readonly string[]
  readonly seed?: number
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  /** `minimal`, `low`, `medium`, `high` or a word of the vendor's own. */
  readonly reasoningEffort?: string
  /** Allows several tool calls in one answer. */
  readonly parallelToolCalls?: boolean
  /** JSON Schema that the answer's text must be an instance of; `{ type: 'object' }` for any JSON object. */
  readonly responseSchema?: Readonly<Record<string, unknown>>
}
