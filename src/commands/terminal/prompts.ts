/** True where a person can answer a prompt: on a terminal, outside continuous integration. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true && !process.env.CI
}

/** Ctrl-C or Ctrl-D at a prompt. */
export function isCancelled(error: unknown): boolean {
  return error instanceof Error && error.name === 'ExitPromptError'
}

/** Entry of a list to choose from. */
export interface PromptChoice<T> {
  readonly name: string
  readonly value: T
  readonly short?: string
  readonly checked?: boolean
  readonly disabled?: boolean | string
}

interface TextPrompt {
  readonly message: string
  readonly default?: string
  readonly validate?: (text: string) => boolean | string
}

export function askText(prompt: TextPrompt): Promise<string> {
  return ask({ type: 'input', ...prompt })
}

/** Prompts for a text and hides the input. */
export function askSecret(message: string): Promise<string> {
  return ask({ type: 'password', message })
}

export function askYesNo(message: string): Promise<boolean> {
  return ask({ type: 'confirm', message, default: true })
}

export function askOne<T>(message: string, choices: readonly PromptChoice<T>[]): Promise<T> {
  return ask({ type: 'select', message, choices })
}

export function askSeveral<T>(message: string, choices: readonly PromptChoice<T>[]): Promise<T[]> {
  return ask({ type: 'checkbox', message, choices })
}

/** Loads the prompts only when needed: most commands ask nothing. */
async function ask<T>(question: object): Promise<T> {
  const { default: inquirer } = await import('inquirer')
  const { answer } = await inquirer.prompt([{ ...question, name: 'answer' } as never])
  return answer as T
}
