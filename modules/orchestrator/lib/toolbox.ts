import { messageOf, type Run, type ToolCall, type ToolDefinition, type ToolProvider, type ToolResult } from 'agent-host'

/** The tools of several providers, by name. */
export class Toolbox {
  readonly definitions: readonly ToolDefinition[]
  readonly #providers: ReadonlyMap<string, ToolProvider>

  private constructor(definitions: readonly ToolDefinition[], providers: ReadonlyMap<string, ToolProvider>) {
    this.definitions = definitions
    this.#providers = providers
  }

  /**
   * @param ids of the modules that provide the tools
   * @throws Error when two tools have one name
   */
  static async open(providers: readonly ToolProvider[], ids: readonly string[], run: Run): Promise<Toolbox> {
    const lists = await Promise.all(providers.map((provider) => provider.listTools(run)))
    const all: ToolDefinition[] = []
    const byName = new Map<string, ToolProvider>()
    lists.forEach((definitions, index) => {
      for (const definition of definitions) {
        const { name } = definition
        if (byName.has(name)) throw collision(name, lists, ids)
        byName.set(name, providers[index] as ToolProvider)
        all.push(definition)
      }
    })
    return new Toolbox(all, byName)
  }

  /** Executes a tool call. The result of a failed call describes the failure to the model, which may find another way. */
  async execute({ id, name, arguments: args }: ToolCall, run: Run): Promise<ToolResult> {
    const provider = this.#providers.get(name)
    if (!provider)
      return failed(`there is no tool '${name}'. Tools: ${[...this.#providers.keys()].join(', ') || 'none'}.`)
    try {
      return await provider.executeTool(name, args, run.with({ toolCallId: id }))
    } catch (error) {
      return failed(messageOf(error))
    }
  }
}

function failed(text: string): ToolResult {
  return { text, isError: true }
}

/** @param ids of the modules whose lists these are */
function collision(name: string, lists: readonly (readonly ToolDefinition[])[], ids: readonly string[]): Error {
  const owners = lists.flatMap((tools, index) =>
    tools.flatMap((tool) => (tool.name === name ? [ids[index] ?? 'of the client'] : [])),
  )
  const [one, other] = owners
  return new Error(
    one === other
      ? `The module '${one}' lists the tool '${name}' twice. Rename one of them.`
      : `The modules '${one}' and '${other}' both have a tool '${name}'. Rename it in one of them, or leave it out there.`,
  )
}
