/** Returns a tool by its name. @throws Error that names the tools there are, for the model to read */
export function findTool<T>(tools: ReadonlyMap<string, T>, name: string): T {
  const tool = tools.get(name)
  if (!tool) throw new Error(`There is no tool '${name}'. Tools: ${[...tools.keys()].join(', ')}.`)
  return tool
}
