import type { ExchangeEntry } from '../definition/definition.ts'
import { didYouMean } from '../definition/nearest-name.ts'
import { listNames, type Path } from '../definition/problem.ts'
import { builtInProviderOf, type DescribedModule, ENTRY, HANDLERS, type Planning, type Report } from './wiring.ts'

/** Reports every entry of `exchange` with an unknown or unsuitable name. */
export function checkExchange({ definition, modules, report }: Planning): void {
  const byId = new Map(modules.map((module) => [module.id, module]))
  const seen = new Set<string>()
  definition.exchange.forEach((entry, index) => {
    const path = ['exchange', index]
    const consumer = byId.get(entry.module)
    if (!consumer && entry.module !== ENTRY) {
      const known = [...byId.keys(), ENTRY]
      const suggestions = [...didYouMean(entry.module, known), `Modules of this agent: ${listNames(known)}.`]
      report([...path, 'module'], `exchange names the module '${entry.module}', which is not there.`, suggestions)
      return
    }
    if (consumer) checkConsumer(consumer, entry, path, report)
    else checkEntry(entry, path, report)
    checkProviders(entry, path, byId, report)
    const key = JSON.stringify([entry.module, entry.protocol, entry.fieldName ?? null])
    if (seen.has(key)) {
      report(path, `exchange says twice who provides '${entry.protocol}' to '${entry.module}'.`, [
        'Keep one of the two.',
      ])
    }
    seen.add(key)
  })
}

function checkConsumer({ id, fields }: DescribedModule, entry: ExchangeEntry, path: Path, report: Report): void {
  const ofProtocol = fields.filter(({ protocol }) => protocol === entry.protocol)
  if (ofProtocol.length === 0) {
    const used = [...new Set(fields.map(({ protocol }) => protocol))]
    const known = used.length > 0 ? `It uses ${listNames(used)}.` : 'It uses nothing.'
    const suggestions = [...didYouMean(entry.protocol, used), known]
    report([...path, 'protocol'], `module '${id}' does not use '${entry.protocol}'.`, suggestions)
    return
  }
  const names = ofProtocol.map(({ name }) => name)
  if (entry.fieldName !== undefined && !names.includes(entry.fieldName)) {
    const suggestions = [
      ...didYouMean(entry.fieldName, names),
      `Its fields for '${entry.protocol}': ${listNames(names)}.`,
    ]
    const message = `module '${id}' has no field '${entry.fieldName}' for '${entry.protocol}'.`
    report([...path, 'fieldName'], message, suggestions)
    return
  }
  const single = ofProtocol.find(({ name, arity }) => arity !== 'many' && name === (entry.fieldName ?? name))
  if (entry.provider.length > 1 && single) {
    const message = `field '${single.name}' of module '${id}' takes one '${entry.protocol}', and exchange gives it ${entry.provider.length}.`
    report([...path, 'provider'], message, ['Name one provider.'])
  }
}

function checkEntry(entry: ExchangeEntry, path: Path, report: Report): void {
  if (!HANDLERS.includes(entry.protocol)) {
    const suggestions = [...didYouMean(entry.protocol, HANDLERS), `Message handlers: ${listNames(HANDLERS)}.`]
    report(
      [...path, 'protocol'],
      `'${entry.protocol}' is not a message handler, which an entry point must be.`,
      suggestions,
    )
  }
  if (entry.fieldName !== undefined) {
    report([...path, 'fieldName'], `'${ENTRY}' has no fields.`, ['Remove fieldName from this entry.'])
  }
}

function checkProviders(
  entry: ExchangeEntry,
  path: Path,
  byId: ReadonlyMap<string, DescribedModule>,
  report: Report,
): void {
  entry.provider.forEach((name, position) => {
    const place = entry.isList ? [...path, 'provider', position] : [...path, 'provider']
    if (builtInProviderOf(entry.protocol) === name && entry.module !== ENTRY) return
    const provider = byId.get(name)
    const able = [...byId.values()].filter(({ provides }) => provides.has(entry.protocol)).map(({ id }) => id)
    const known = able.length > 0 ? `These provide it: ${listNames(able)}.` : 'No module of this agent provides it.'
    if (!provider) {
      const suggestions = [...didYouMean(name, byId.keys()), known]
      report(place, `exchange names the provider '${name}', which is not there.`, suggestions)
    } else if (!provider.provides.has(entry.protocol)) {
      report(place, `module '${name}' does not provide '${entry.protocol}'.`, [known])
    }
  })
}
