import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { PROVIDERS } from '../../project/create/providers.ts'
import { TEMPLATES, type TemplateName } from '../../project/create/templates.ts'
import { askOne, askSecret, askText, askYesNo } from '../terminal/prompts.ts'

/** Choices of `init`; undefined for those left out. */
export interface Answers {
  readonly name?: string | undefined
  readonly template?: TemplateName | undefined
  readonly llm?: string | undefined
  /** Empty when it comes later. */
  readonly apiKey?: string | undefined
  readonly git?: boolean | undefined
  readonly install?: boolean | undefined
}

export type Choices = { readonly [Key in keyof Answers]-?: Exclude<Answers[Key], undefined> }

/**
 * Prompts for the options left out on the command line, one at a time.
 *
 * @param refuse throws when a folder cannot be used: asked before the other questions, whose answers would be lost
 */
export async function askChoices(
  { name: given, ...said }: Answers,
  { packageManager, refuse }: { packageManager: string; refuse: (folder: string) => Promise<void> },
): Promise<Choices> {
  const name = given ?? (await askName())
  const folder = resolve(name)
  await refuse(folder)
  const template = said.template ?? (await askTemplate())
  const llm = said.llm ?? (await askProvider())
  const apiKey = said.apiKey ?? (await askKey(llm))
  const isRepository = existsSync(join(folder, '.git'))
  const git = said.git ?? (!isRepository && (await askYesNo('Initialise a git repository?')))
  const install = said.install ?? (await askYesNo(`Install dependencies with ${packageManager}?`))
  return { name, template, llm, apiKey, git, install }
}

async function askName(): Promise<string> {
  const validate = (text: string) => text.trim() !== '' || 'The name must not be empty.'
  return (await askText({ message: 'Name of the project:', default: 'my-agents', validate })).trim()
}

async function askTemplate(): Promise<TemplateName> {
  const choices = Object.entries(TEMPLATES).map(([name, { title }]) => ({
    name: `${name.padEnd(8)} ${title}`,
    value: name as TemplateName,
    short: name,
  }))
  return askOne('Template:', choices)
}

async function askProvider(): Promise<string> {
  const choices = [
    { name: 'None yet: an offline model answers, without key or network', value: 'offline', short: 'none yet' },
    ...PROVIDERS.map(({ name, title }) => ({ name: title, value: name })),
  ]
  return askOne('Model vendor:', choices)
}

/** Hidden; the address of a provider without keys is no secret. */
async function askKey(llm: string): Promise<string> {
  const provider = PROVIDERS.find(({ name }) => name === llm)
  if (!provider) return ''
  const { title, variable, example } = provider
  if (!variable.endsWith('_KEY')) {
    return askText({ message: `Address of ${title}:`, default: example })
  }
  return askSecret(`${variable} (hidden, saved in .env; empty to add it later):`)
}
