import { readFile } from 'node:fs/promises'
import { isModule } from './define-module.ts'
import { installation } from './installation.ts'
import { importLibraryModule, listLibrary } from './load-module.ts'

/** A module of the library, as far as lists and editors need it. */
export interface CatalogEntry {
  readonly reference: string
  readonly description: string
  /** JSON Schema of its config. */
  readonly config: unknown
}

/**
 * Reads what the build knows of every library module, in alphabetical order: loading them all takes half a second. From source
 * they are loaded.
 */
export async function readLibraryCatalog(): Promise<readonly CatalogEntry[]> {
  const { catalog } = installation
  return catalog === undefined ? collectLibraryCatalog() : JSON.parse(await readFile(catalog, 'utf8'))
}

/** Loads every library module for its entry. */
export async function collectLibraryCatalog(): Promise<readonly CatalogEntry[]> {
  const entries = await Promise.all(listLibrary().map(describeModule))
  return entries.flat()
}

async function describeModule(reference: string): Promise<readonly CatalogEntry[]> {
  const { default: module } = await importLibraryModule(reference)
  if (!isModule(module)) return []
  return [{ reference, description: module.description, config: JSON.parse(JSON.stringify(module.config)) }]
}
