#!/usr/bin/env node
// `npm create agent-host my-agents` is `agent-host init my-agents --install`.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const manifest = createRequire(import.meta.url).resolve('agent-host/package.json')
const args = process.argv.slice(2)
const isDecided = args.some((word) => ['--install', '--no-install', '--help', '-h'].includes(word))
process.argv.splice(2, args.length, 'init', ...(isDecided ? [] : ['--install']), ...args)
await import(new URL('bin/run.js', pathToFileURL(manifest)).href)
