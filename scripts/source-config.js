import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Config, Plugin, settings } from '@oclif/core'

/** Loads the command line with its commands from source: for bin/dev.js, and for tests that run commands in their own process. */
export async function loadSourceConfig() {
  // oclif's own way to source files needs TypeScript's former API, and runs an old build without it.
  settings.enableAutoTranspile = false
  const root = fileURLToPath(new URL('..', import.meta.url))
  const pjson = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  pjson.oclif.commands.target = './src/commands/index.ts'
  pjson.oclif.helpClass = './src/commands/help/suggesting-help.ts'
  pjson.oclif.hooks = { command_not_found: './src/commands/help/command-not-found.ts' }
  // `Config.load` alone would read the manifest of an earlier build, which hides commands and flags that are new.
  const plugin = new Plugin({ isRoot: true, root, pjson, ignoreManifest: true })
  await plugin.load()
  return Config.load({ root, pjson, plugins: new Map([[plugin.name, plugin]]) })
}
