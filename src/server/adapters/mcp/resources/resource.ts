/** A resource in the list for clients (`Resource` of the MCP schema). */
export interface Resource {
  readonly uri: string
  readonly name: string
  readonly description: string
  readonly mimeType: string
}

/** A resource as text, or as base64. */
export type ResourceContent = { readonly uri: string; readonly mimeType: string } & (
  | { readonly text: string }
  | { readonly blob: string }
)
