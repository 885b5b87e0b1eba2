// Your own modules go here: modules/weather.ts is `module: weather` in an agent file.
// A module of the library that you take over (`agent-host eject`) comes here as well, and is then used instead.
export {}
