import type { FastifyInstance } from 'fastify'
import { CALLBACK_PATH } from '../../../../wiring/plan-agent.ts'
import { pageHeaders } from '../../../guards/page-headers.ts'
import { type PageFile, serveStaticPage } from '../../../replies/static-page.ts'

const FILES: Readonly<Record<string, PageFile>> = {
  [CALLBACK_PATH]: { file: 'index.html', type: 'html' },
  [`${CALLBACK_PATH}.css`]: { file: 'callback.css', type: 'css' },
  [`${CALLBACK_PATH}.js`]: { file: 'callback.js', type: 'javascript' },
}

/** Serves the page to which other sites send people back: it answers the question of the agent that sent them. */
export function serveCallbackPage(app: FastifyInstance): void {
  serveStaticPage(app, 'callback', FILES, pageHeaders())
}
