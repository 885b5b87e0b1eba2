#!/usr/bin/env node
import module from 'node:module'
import { readyText } from '../dist/prebuilt-help.js'

// Help and version were written when agent-host was built: they need no framework to be loaded.
const text = readyText(process.argv.slice(2))
if (text !== undefined) {
  process.stdout.write(text)
} else {
  // Where Node has it and its variables do not turn it off: it keeps compiled code in the folder that they name, or that of temporary files.
  module.enableCompileCache?.()
  const { execute } = await import('../dist/command-line.js')
  await execute(import.meta.url)
}
