/** Rules by globs of tool names, or one rule for all tools. */
export type Approval<Rule extends string> = Rule | Readonly<Record<string, Rule>>

/** The rule of a tool: the first whose glob fits its name; undefined when none does. */
export function ruleOf<Rule extends string>(approval: Approval<Rule> | undefined, tool: string): Rule | undefined {
  if (approval === undefined || typeof approval === 'string') return approval
  return Object.entries(approval).find(([glob]) => fits(tool, glob))?.[1]
}

/** `*` stands for any characters. */
function fits(name: string, glob: string): boolean {
  const pattern = glob.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${pattern.join('.*')}$`).test(name)
}
