import { existsSync } from 'node:fs'
import { chmod, realpath, rename, stat, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { Flags } from '@oclif/core'
import { type Document, isMap, isSeq, parseDocument, type YAMLSeq } from 'yaml'
import { badProject, HostError } from '../../errors.ts'
import { readRegularFile } from '../../read-regular-file.ts'
import { type KeyEntry, parseKeys, type ReadKeys } from '../../server/guards/keys-file.ts'

/** `--keys` of the commands that read and write the file of keys. */
export function keysFlag() {
  return Flags.string({
    description: 'File of keys, as that of the server',
    env: 'AGENT_HOST_KEYS',
    helpGroup: 'project',
    default: 'keys.yml',
    helpValue: '<file>',
  })
}

/** A file of keys that is edited: its comments stay. */
export class KeysDocument {
  readonly #path: string
  /** Undefined for a file that is not there. */
  readonly #text: string | undefined
  readonly #document: Document
  /** As it was read: edits are not part of it. */
  readonly #read: ReadKeys<KeyEntry>

  private constructor(path: string, text: string | undefined) {
    this.#path = path
    this.#text = text
    this.#read = text === undefined ? { keys: [], tenants: new Map(), doubts: [] } : parse(text, path)
    this.#document = parseDocument(text ?? 'keys: []\n')
  }

  /**
   * @param path absolute; one that is not there is an empty document
   * @throws HostError `PROJECT_INVALID` for a file that servers would not read, either
   */
  static async open(path: string): Promise<KeysDocument> {
    return new KeysDocument(path, await readText(path))
  }

  /** As they are read: those of an edit are not among them before it is saved. */
  get entries(): readonly KeyEntry[] {
    return this.#read.keys
  }

  /** Limits of tenants. */
  get tenants(): ReadKeys<KeyEntry>['tenants'] {
    return this.#read.tenants
  }

  get doubts(): ReadKeys<KeyEntry>['doubts'] {
    return this.#read.doubts
  }

  add(entry: KeyEntry): void {
    const node = this.#document.createNode(entry, { flow: true })
    const keys = this.#keys
    keys.flow = false
    keys.add(node)
  }

  /** Takes out all keys of a name. */
  remove(name: string): void {
    const keys = this.#keys
    keys.items = keys.items.filter((item) => !(isMap(item) && item.get('name') === name))
  }

  /**
   * Replaces the file at once: a server that reads it meanwhile sees the old one or the new one. A new file is for this user alone.
   *
   * @throws HostError `PROJECT_INVALID` when servers would not read it: nothing has changed then
   */
  async save(): Promise<void> {
    const text = this.#document.toString({ lineWidth: 0 })
    parse(text, this.#path)
    if ((await readText(this.#path)) !== this.#text) {
      const suggestions = ['Run the command again.']
      throw badProject(`${basename(this.#path)} has changed meanwhile. Nothing was written.`, {
        suggestions,
      })
    }
    const isNew = this.#text === undefined
    // A link stays one: it leads to the file that servers read.
    const path = isNew ? this.#path : await realpath(this.#path)
    const mode = isNew ? 0o600 : (await stat(path)).mode & 0o777
    const draft = `${path}.${process.pid}.new`
    await writeFile(draft, text, { mode, flag: 'wx' })
    await chmod(draft, mode)
    await rename(draft, path)
  }

  get #keys(): YAMLSeq {
    const keys = this.#document.get('keys')
    if (isSeq(keys)) return keys
    throw badProject(`${basename(this.#path)} has no list of keys.`)
  }
}

async function readText(path: string): Promise<string | undefined> {
  return existsSync(path) ? (await readRegularFile(path)).toString() : undefined
}

/** It is not the command line that is wrong, but the file. */
function parse(text: string, path: string): ReadKeys<KeyEntry> {
  try {
    return parseKeys(text, basename(path))
  } catch (error) {
    if (!(error instanceof HostError)) throw error
    throw badProject(error.message, { suggestions: error.suggestions })
  }
}
