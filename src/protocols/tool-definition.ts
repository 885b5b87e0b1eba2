import type { TObject } from 'typebox'

/** Tool of a client as the client knows it, where that differs from what a model sees. */
export interface ClientTool {
  readonly name: string
  /** Group of tools that it belongs to. */
  readonly namespace?: string
  /** True for a tool that takes free text: a model gives it as the argument `input`. */
  readonly isCustom?: boolean
  /** Regular expression that the whole text of such a tool has to match. */
  readonly pattern?: string
  /** Lark grammar of the whole text of such a tool; the description ends with it, for models that take none. */
  readonly lark?: string
}

/** Tool as a model sees it. */
export interface ToolDefinition {
  /** `[A-Za-z0-9_-]{1,64}`, as the common model APIs require. */
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments, `type: object`; `Type.Object` makes one, too. */
  readonly parameters: Readonly<Record<string, unknown>> | TObject
  /** Asks the vendor for arguments that match the schema, where it can guarantee that. Default: false. */
  readonly strict?: boolean
  /** Set for tools of clients alone; a model is not shown it. */
  readonly client?: ClientTool
  /** True when its provider, which is not trusted, describes it otherwise than at first. Models are not shown it. */
  readonly isChanged?: boolean
  /** Calls that wait for a person: all, or those that a rule picks by their arguments. Left out: none, or not known. Models are not shown it. */
  readonly approval?: 'always' | 'sometimes'
}
