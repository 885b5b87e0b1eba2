import { randomUUID } from 'node:crypto'
import type { Stats } from 'node:fs'
import { chmod, chown, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { Flags } from '@oclif/core'
import { type Document, isSeq, parseDocument, type YAMLSeq } from 'yaml'
import { readSettingsText } from '../../definition/settings-file.ts'
import { badProject, HostError } from '../../errors.ts'
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
  readonly read: ReadKeys<KeyEntry>

  private constructor(path: string, text: string | undefined) {
    this.#path = path
    this.#text = text
    this.read = text === undefined ? { keys: [], tenants: new Map(), doubts: [] } : parse(text, path)
    this.#document = parseDocument(text ?? 'keys: []\n')
  }

  /**
   * @param path absolute; one that is not there is an empty document
   * @throws HostError `PROJECT_INVALID` for a file that servers would not read, either
   */
  static async open(path: string): Promise<KeysDocument> {
    return new KeysDocument(path, await readText(path))
  }

  add(entry: KeyEntry): void {
    const node = this.#document.createNode(entry, { flow: true })
    const keys = this.#keys
    keys.flow = false
    keys.add(node)
  }

  /** Takes out all keys of a name, also where an alias stands for it. */
  remove(name: string): void {
    const keys = this.#keys
    keys.items = keys.items.filter((_, index) => this.read.keys[index]?.name !== name)
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
    // A link stays one: it leads to the file that servers read.
    const path = this.#text === undefined ? this.#path : await realpath(this.#path)
    const before = this.#text === undefined ? undefined : await stat(path)
    const mode = before ? before.mode & 0o777 : 0o600
    const draft = `${path}.${randomUUID()}.new`
    try {
      await writeFile(draft, text, { mode, flag: 'wx' })
      if (before) await this.#give(draft, before)
      await chmod(draft, mode)
      await rename(draft, path)
    } finally {
      await rm(draft, { force: true })
    }
  }

  /** Servers may run as another user: one that cannot read the file keeps the keys of before. */
  async #give(draft: string, { uid, gid }: Stats): Promise<void> {
    const own = await stat(draft)
    if (own.uid === uid && own.gid === gid) return
    try {
      await chown(draft, uid, gid)
    } catch (cause) {
      const message = `${basename(this.#path)} belongs to the user ${uid} and the group ${gid}, to which this user cannot give it. Nothing was written.`
      throw badProject(message, { suggestions: ['Run the command as that user, or as root.'], cause })
    }
  }

  get #keys(): YAMLSeq {
    const keys = this.#document.get('keys')
    if (isSeq(keys)) return keys
    throw badProject(`${basename(this.#path)} has no list of keys.`)
  }
}

function readText(path: string): Promise<string | undefined> {
  return readSettingsText(path, basename(path)).catch(refuseFile)
}

function parse(text: string, path: string): ReadKeys<KeyEntry> {
  try {
    return parseKeys(text, basename(path))
  } catch (error) {
    return refuseFile(error)
  }
}

/** It is not the command line that is wrong, but the file. */
function refuseFile(error: unknown): never {
  if (!(error instanceof HostError)) throw error
  throw badProject(error.message, { suggestions: error.suggestions })
}
