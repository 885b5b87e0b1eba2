/** Tool as a model sees it. */
export interface ToolDefinition {
  /** `[A-Za-z0-9_-]{1,64}`, as the common model APIs require. */
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments, `type: object`. */
  readonly parameters: Readonly<Record<string, unknown>>
  /** Asks the vendor for arguments that match the schema, where it can guarantee that. Default: false. */
  readonly strict?: boolean
  /** True when its provider, which is not trusted, describes it otherwise than at first. Models are not shown it. */
  readonly isChanged?: boolean
}
