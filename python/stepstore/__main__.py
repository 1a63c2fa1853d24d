from stepstore.cli import main

main()
