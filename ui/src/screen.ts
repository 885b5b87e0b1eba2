import type { Route } from './router.ts'
import type { ServerInfo } from './types.ts'

/** Props of every screen. */
export interface ScreenProps {
  readonly route: Route
  readonly server: ServerInfo | undefined
}
