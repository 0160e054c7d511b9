"""Exchange with other tools: Hugging Face folders, CTranslate2 models and Argos packages."""
