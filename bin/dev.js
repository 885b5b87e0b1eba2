#!/usr/bin/env -S node --import=tsx --conditions=agent-host-source
// The command line from source, for work on agent-host itself.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Config, flush, handle, run, settings } from '@oclif/core'

// oclif's own way to source files needs TypeScript's former API, and runs an old build without it.
settings.enableAutoTranspile = false
const root = fileURLToPath(new URL('..', import.meta.url))
const pjson = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
pjson.oclif.commands.target = './src/commands/index.ts'
pjson.oclif.helpClass = './src/commands/suggesting-help.ts'
pjson.oclif.hooks = { command_not_found: './src/commands/command-not-found.ts' }
const config = await Config.load({ root, pjson, ignoreManifest: true })
await run(process.argv.slice(2), config).then(flush, handle)
