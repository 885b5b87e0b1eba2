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
  /** Length of the answer: `low`, `medium` or `high`. */
  readonly verbosity?: string
  /** Tier of the vendor's service: `default`, `flex`, `priority` or a word of its own. */
  readonly serviceTier?: string
  /** Groups requests whose beginnings are alike, for the vendor's cache. */
  readonly promptCacheKey?: string
  /** Tells end users apart where the vendor looks for abuse; no name or address. */
  readonly safetyIdentifier?: string
  /** Allows several tool calls in one answer. */
  readonly parallelToolCalls?: boolean
  /** JSON Schema that the answer's text must be an instance of; `{ type: 'object' }` for any JSON object. */
  readonly responseSchema?: Readonly<Record<string, unknown>>
}
